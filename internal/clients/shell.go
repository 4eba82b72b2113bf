package clients

// shells run a text.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox"}
