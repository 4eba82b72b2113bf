package helper

// wrappedError is an error with what was being done. Package fmt is not imported.
type wrappedError struct {
	what string
	err  error
}

// Error returns "what: why".
func (f *wrappedError) Error() string { return f.what + ": " + f.err.Error() }

// Unwrap returns the cause.
func (f *wrappedError) Unwrap() error { return f.err }

// wrapError adds to an error what was being done; nil stays nil.
func wrapError(what string, err error) error {
	if err == nil {
		return nil
	}
	return &wrappedError{what, err}
}

// formatDecimal writes a number.
func formatDecimal(n int64) string {
	if n < 0 {
		return "-" + formatDecimal(-n)
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
