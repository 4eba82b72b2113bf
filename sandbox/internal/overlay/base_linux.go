package overlay

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openBase opens a directory of the lower layer for listing and as an anchor.
// It follows no symbolic link: one in the way is a change of the host, or it
// would have been in the way of the child.
func (l *layer) openBase(rel string) (*os.File, error) {
	how := &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NONBLOCK,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for {
		fd, err := unix.Openat2(int(l.base.Fd()), rel, how)
		if err == nil {
			return os.NewFile(uintptr(fd), filepath.Join(l.lower, rel)), nil
		}
		// EAGAIN means that something was renamed during the call; see openat2(2).
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return nil, &fs.PathError{Op: "open", Path: filepath.Join(l.lower, rel), Err: err}
		}
	}
}

// statLower returns what is at a path of the lower layer at present.
func (l *layer) statLower(rel string) (lowerState, error) {
	dir, err := l.openBase(filepath.Dir(rel))
	if err != nil {
		return lowerState{}, ignoreMissing(err)
	}
	defer dir.Close()
	return statAt(dir, filepath.Base(rel))
}

// statDir returns the state of a directory, also of the layer's own.
func (l *layer) statDir(rel string) (lowerState, error) {
	dir, err := l.openBase(rel)
	if err != nil {
		return lowerState{}, ignoreMissing(err)
	}
	defer dir.Close()
	var s lowerState
	err = unix.Fstat(int(dir.Fd()), &s.st)
	s.exists = err == nil
	return s, err
}

func statAt(dir *os.File, name string) (lowerState, error) {
	var s lowerState
	err := unix.Fstatat(int(dir.Fd()), name, &s.st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return lowerState{}, ignoreMissing(err)
	}
	s.exists = true
	return s, nil
}

// ignoreMissing drops the errors that say that there is no such path, or that
// something else than a directory is in the way.
func ignoreMissing(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	return err
}

// isUnchanged reports whether a path is what it was when it was judged. Other
// names of the same file may have been committed since, which shows in ctime.
func (s lowerState) isUnchanged(now lowerState) bool {
	a, b := &s.st, &now.st
	if s.exists != now.exists || a.Dev != b.Dev || a.Ino != b.Ino || a.Mode != b.Mode {
		return false
	}
	if s.isDir() {
		// What was committed in it changed its times.
		return true
	}
	return a.Size == b.Size && a.Mtim == b.Mtim && (a.Ctim == b.Ctim || a.Nlink > 1)
}
