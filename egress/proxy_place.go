package egress

// everyPrefix lists the texts that may stand in front of any stand-in.
var everyPrefix = [...]string{"Bearer ", "token "}

// insertion is a value that may travel to a host.
type insertion struct {
	placeholder, value string
	prefixes           []string
}
