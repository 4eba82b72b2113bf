//go:build !linux && !darwin

package sqlite

// diskFull cannot tell here; the error then says that the file cannot be
// written.
func diskFull(string) bool { return false }
