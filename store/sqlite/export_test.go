package sqlite

// ShortLog returns options with which the log is emptied every few writes.
func ShortLog() *Options { return &Options{logPages: 8} }

// LogLimit is what the log is cut back to, in bytes.
const LogLimit = walLimit
