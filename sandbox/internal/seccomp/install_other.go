//go:build !linux

package seccomp

// Install returns [ErrNotSupported]: the filter is one of Linux.
func Install(Program, bool) (fd int, err error) {
	return -1, ErrNotSupported
}
