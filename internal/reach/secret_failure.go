package reach

import "errors"

// SecretFailure is in the chain of what the secrets accessor says of a granted reference
// whose value cannot be had.
type SecretFailure struct {
	// Cause is why; it is for the log.
	Cause error
}

// Error is for the log.
func (f *SecretFailure) Error() string { return "no value: " + f.Cause.Error() }

// Unwrap returns the cause.
func (f *SecretFailure) Unwrap() error { return f.Cause }

// IsSecretFailure reports whether an error is what the secrets accessor says of a
// granted reference whose value cannot be had. Its text is the gate's own: it names
// the reference, and nothing that a source or a server says of it but the coded words
// of the source.
func IsSecretFailure(err error) bool {
	_, ok := errors.AsType[*SecretFailure](err)
	return ok
}
