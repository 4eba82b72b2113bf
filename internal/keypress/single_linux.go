package keypress

import (
	"os"

	"golang.org/x/sys/unix"
)

// readSingleKeys has a terminal hand over each key at once and show none. What
// is printed, and Ctrl-C, stay as they are.
func readSingleKeys(file *os.File) (restore func(), err error) {
	fd := int(file.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	raw := *before
	raw.Lflag &^= unix.ICANON | unix.ECHO
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &raw); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }, nil
}
