package helper

// fault is an error with what was being done. Package fmt is not imported.
type fault struct {
	what string
	err  error
}

// Error returns "what: why".
func (f *fault) Error() string { return f.what + ": " + f.err.Error() }

// Unwrap returns the cause.
func (f *fault) Unwrap() error { return f.err }

// failed says what an error was about; nil stays nil.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return &fault{what, err}
}

// decimal writes a number.
func decimal(n int64) string {
	if n < 0 {
		return "-" + decimal(-n)
	}
	var buf [20]byte
	i := len(buf)
	for {
		i--
		buf[i] = '0' + byte(n%10)
		if n /= 10; n == 0 {
			return string(buf[i:])
		}
	}
}
