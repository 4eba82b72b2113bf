package scoped

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	places "github.com/sallyport/sallyport/internal/place"
)

// openDirectly opens a name that needs no resolution of ours: a file to which no
// link leads, or one whose links os.Root follows. nil means that resolve has to find
// out more.
func (b *boundFiles) openDirectly(p string) (*openedFile, *rootHandle) {
	at := b.f.followNames(p)
	e := b.f.findEntry(opRead, at)
	if at != e.path && !e.isClosed() {
		if f, err := openRegular(at, openFlags); err == nil {
			return &openedFile{f: f, path: p, real: at}, &rootHandle{real: e.path}
		}
	}
	return b.openBeneath(p, at, e)
}

// openBeneath opens a name beneath the directory of its entry.
func (b *boundFiles) openBeneath(p, at string, e *grantedEntry) (*openedFile, *rootHandle) {
	h, err := e.acquireRoot()
	if err != nil {
		return nil, nil
	}
	if h.only != "" {
		h.release()
		return nil, nil
	}
	rel := e.relativePath(at)
	// The look before the open spares the writer at the other end of a FIFO a
	// reader that goes away at once.
	if info, err := h.root.Lstat(rel); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := h.root.OpenFile(rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil
	}
	return &openedFile{f: f, path: p, real: filepath.Join(h.real, rel)}, h
}

var errNotRegular = errors.New("not a regular file")

// openRegular opens a regular file at an absolute path for reading, with more flags,
// and follows no link on the way. What is not one is looked at and never opened, also
// when it takes the place of one at that moment: what is opened is what was looked at.
// It fails where the kernel has no openat2, or no /proc is mounted.
func openRegular(path string, flags int) (*os.File, error) {
	seen, st, err := places.Look(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(seen)
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errNotRegular
	}
	own, err := ownFiles()
	if err != nil {
		return nil, err
	}
	for {
		fd, err := unix.Openat(own, strconv.Itoa(seen), unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, err
		}
	}
}

// readOwnLink returns where an open file lies, as the kernel sees it.
func readOwnLink(fd int) (string, error) {
	own, err := ownFiles()
	if err != nil {
		return "", err
	}
	var short [256]byte
	for b := short[:]; ; b = make([]byte, 2*len(b)) {
		n, err := unix.Readlinkat(own, strconv.Itoa(fd), b)
		if err == nil && n < len(b) {
			return string(b[:n]), nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return "", err
		}
	}
}

// ownFolder is the folder in which the kernel names the open files of this process,
// and 1; 0 before it was opened. It stays open.
var ownFolder atomic.Int64

func ownFiles() (int, error) {
	if fd := ownFolder.Load(); fd != 0 {
		return int(fd - 1), nil
	}
	fd, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if !ownFolder.CompareAndSwap(0, int64(fd)+1) {
		unix.Close(fd)
	}
	return int(ownFolder.Load() - 1), nil
}
