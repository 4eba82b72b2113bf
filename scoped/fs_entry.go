package scoped

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	places "github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/internal/reach"
)

// grantedEntry is one granted place: a directory with everything below it, or a
// single file. It is shared by both directions when both grant it.
type grantedEntry struct {
	// path is absolute and clean. No link on it is followed, whenever it is
	// opened: the process that made one since the grant was computed was meant to be bound
	// by it.
	path string
	// parent is the narrowest granted directory around this one.
	parent *grantedEntry

	mu     sync.Mutex
	open   *rootHandle
	closed bool
}

func (e *grantedEntry) coversPath(p string) bool { return reach.Within(e.path, p) }

// relativePath returns p, which the entry covers, relative to the entry; "." for the
// entry itself.
func (e *grantedEntry) relativePath(p string) string {
	rel, err := filepath.Rel(e.path, p)
	if err != nil {
		return "." // Cannot happen: both are absolute and clean.
	}
	return rel
}

// rootHandle is an open directory beneath which names are opened.
type rootHandle struct {
	root *os.Root
	// real is the directory's path without symbolic links.
	real string
	// only is the one name that may be used, for an entry that is a file;
	// empty for a directory.
	only string
	id   fileID
	// once is true when the handle belongs to one operation.
	once bool
}

// nameBeneath returns the name beneath root for a name relative to the entry; ok is
// false when the entry is a file and the name would lie below it.
func (h *rootHandle) nameBeneath(rel string) (name string, ok bool) {
	if h.only == "" {
		return rel, true
	}
	return h.only, rel == "."
}

func (h *rootHandle) release() {
	if h.once {
		_ = h.root.Close() // It was only read from; there is nothing to lose.
	}
}

// acquireRoot returns the entry's directory, opened anew when another folder is at
// the path than before, so that a folder that was created or replaced after the
// start is the one that is used. A link anywhere on the path is [places.ErrLink];
// it fails with fs.ErrNotExist when there is nothing at the path. A replaced
// handle is not closed here, for another call may be using it; its finalizer does
// that.
func (e *grantedEntry) acquireRoot() (*rootHandle, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fs.ErrClosed
	}
	id, dir, err := statIdentity(e.path)
	if err != nil {
		return nil, err
	}
	if !dir {
		// A file: its directory is opened for this operation only, since nothing
		// cheap would tell when the file has become something else.
		h, err := openDir(filepath.Dir(e.path))
		if err != nil {
			return nil, err
		}
		h.only, h.once = filepath.Base(e.path), true
		return h, nil
	}
	if e.open != nil && e.open.id.isSame(id) {
		return e.open, nil
	}
	e.open = nil
	h, err := openDir(e.path)
	if err == nil {
		e.open = h
	}
	return h, err
}

func (e *grantedEntry) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// openDir opens a directory for use as a root, without following a link.
func openDir(path string) (*rootHandle, error) {
	at, err := places.Open(path)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	info, err := at.Stat()
	if err != nil {
		return nil, err
	}
	return openRoot(path, idOf(info))
}

// openRoot opens a directory that was just found at a path without links, which
// is held open: what has another identity took its place.
func openRoot(path string, id fileID) (*rootHandle, error) {
	// The dot makes the system insist on a directory: a FIFO that was put in
	// its place would otherwise block the open.
	root, err := os.OpenRoot(path + string(filepath.Separator) + ".")
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err == nil && !idOf(info).isSame(id) {
		err = places.ErrLink
	}
	if err != nil {
		_ = root.Close() // The error that counts is the other one.
		return nil, err
	}
	return &rootHandle{root: root, real: path, id: id}, nil
}

func (e *grantedEntry) closeForGood() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.open != nil {
		_ = e.open.root.Close() // It was only read from; there is nothing to lose.
		e.open = nil
	}
}
