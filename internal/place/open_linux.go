package place

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/reach"
)

// elementwise is set when this kernel, or the filter of the container around it,
// has no openat2.
var elementwise atomic.Bool

// Open opens an absolute path for looking at it and for opening names beneath it,
// and follows no symbolic link on the way. A link is [ErrLink]; what does not
// exist, or lies below a file, is [os.ErrNotExist].
func Open(path string) (*os.File, error) {
	if !elementwise.Load() {
		fd, err := openWhole(path)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM):
			return nil, openError(path, err)
		}
		elementwise.Store(errors.Is(err, unix.ENOSYS))
	}
	fd, err := openElements(path)
	if err != nil {
		return nil, openError(path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Stat describes what is at an absolute path, as [Open] would open it. It costs
// half of that.
func Stat(path string) (st unix.Stat_t, err error) {
	if fd, st, err := Look(path); err == nil {
		unix.Close(fd)
		return st, nil
	}
	f, err := Open(path)
	if err != nil {
		return st, err
	}
	defer f.Close()
	return st, unix.Fstat(int(f.Fd()), &st)
}

// Look opens an absolute path as [Open] does, as a descriptor for looking at it alone,
// and describes what is there. It fails where this kernel has no openat2.
func Look(path string) (fd int, st unix.Stat_t, err error) {
	if elementwise.Load() {
		return -1, st, errors.ErrUnsupported
	}
	if fd, err = openWhole(path); err != nil {
		return -1, st, openError(path, err)
	}
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, st, openError(path, err)
	}
	return fd, st, nil
}

func mayBeLinked(path string) bool {
	_, err := Stat(path)
	return errors.Is(err, ErrLink)
}

func openWhole(path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		// EAGAIN is a rename elsewhere while the path was walked; see openat2(2).
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}

// openElements opens one element after the other, each a descriptor of its own.
func openElements(path string) (int, error) {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	for _, elem := range reach.SplitElements(filepath.Clean(path)) {
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
