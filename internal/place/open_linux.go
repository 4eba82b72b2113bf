package place

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Open opens an absolute path for looking at it and for opening names beneath it,
// and follows no symbolic link on the way. A link is [ErrLink]; what does not
// exist, or lies below a file, is [os.ErrNotExist].
func Open(path string) (*os.File, error) {
	fd, err := openElements(path)
	if err != nil {
		return nil, openError(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openElements opens one element after the other, each a descriptor of its own.
func openElements(path string) (int, error) {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	for _, elem := range elements(filepath.Clean(path)) {
		next, err := unix.Openat(fd, elem, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = unix.ELOOP
		}
		if err != nil {
			unix.Close(fd)
			return -1, err
		}
	}
	return fd, nil
}

func openError(path string, err error) error {
	switch {
	case errors.Is(err, unix.ELOOP):
		err = ErrLink
	case errors.Is(err, unix.ENOTDIR):
		err = os.ErrNotExist
	}
	return &os.PathError{Op: "open", Path: path, Err: err}
}
