package scoped

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/sallyport/sallyport/internal/reach"
)

// entry is one granted path: a directory with everything below it, or a single
// file. It is shared by both directions when both grant it.
type entry struct {
	path string
	// real is where path led when the grant was compiled; linked says that a
	// symbolic link was involved. Only the operator can have made that link,
	// so it is followed, wherever it points later. A path without a link must
	// stay without: a link that appears in a granted name afterwards was put
	// there by somebody whom the grant was meant to bound.
	real   string
	linked bool
	// parent is the narrowest granted directory around this one.
	parent *entry

	mu     sync.Mutex
	open   *handle
	closed bool
}

func newEntry(path string) *entry {
	real := realPath(path)
	return &entry{path: path, real: real, linked: real != path}
}

// covers reports whether p is the entry or lies below it.
func (e *entry) covers(p string) bool {
	return reach.Within(e.path, p) || e.linked && reach.Within(e.real, p)
}

// rel returns p, which the entry covers, relative to the entry; "." for the
// entry itself.
func (e *entry) rel(p string) string {
	base := e.path
	if !reach.Within(base, p) {
		base = e.real
	}
	rel, err := filepath.Rel(base, p)
	if err != nil {
		return "." // Cannot happen: both are absolute and clean.
	}
	return rel
}

// handle is an open directory beneath which names are opened.
type handle struct {
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

// name returns the name beneath root for a name relative to the entry; ok is
// false when the entry is a file and the name would lie below it.
func (h *handle) name(rel string) (name string, ok bool) {
	if h.only == "" {
		return rel, true
	}
	return h.only, rel == "."
}

// done releases a handle that belongs to one operation.
func (h *handle) done() {
	if h.once {
		_ = h.root.Close() // It was only read from; there is nothing to lose.
	}
}

// acquire returns the entry's directory, opened again when the name leads to
// another one than before, so that a folder that was created or replaced after
// the start is the one that is used. It fails with fs.ErrNotExist when there
// is nothing at the path. A replaced handle is not closed here, for another
// call may be using it; its finalizer does that.
func (e *entry) acquire() (*handle, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fs.ErrClosed
	}
	if e.open != nil && sameDir(e.path, e.open.id) {
		return e.open, nil
	}
	e.open = nil
	h, err := e.openHandle()
	if err != nil {
		return nil, err
	}
	if !h.once {
		e.open = h
	}
	return h, nil
}

func (e *entry) openHandle() (*handle, error) {
	info, err := os.Stat(e.path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openDir(e.path, e.linked)
	}
	// A file: its directory is opened for this operation only, since nothing
	// cheap would tell when the file has become something else.
	path := e.path
	if e.linked {
		if path, err = filepath.EvalSymlinks(e.path); err != nil {
			return nil, err
		}
	}
	h, err := openDir(filepath.Dir(path), e.linked)
	if err != nil {
		return nil, err
	}
	h.only, h.once = filepath.Base(path), true
	return h, nil
}

// openDir opens a directory for use as a root. Unless links are expected, the
// directory that was opened must be the one that the path spells.
func openDir(path string, linked bool) (*handle, error) {
	// The dot makes the system insist on a directory: a FIFO that was put in
	// its place would otherwise block the open.
	root, err := os.OpenRoot(path + string(filepath.Separator) + ".")
	if err != nil {
		return nil, err
	}
	h, err := newHandle(root, path)
	if err == nil && !linked && !sameName(h.real, path) {
		err = errLinked
	}
	if err != nil {
		_ = root.Close() // The error that counts is the other one.
		return nil, err
	}
	return h, nil
}

func newHandle(root *os.Root, path string) (*handle, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil {
		return nil, err
	}
	real, err := openedPath(dir, path)
	if err != nil {
		return nil, err
	}
	return &handle{root: root, real: real, id: idOf(info)}, nil
}

// close releases the open directory for good.
func (e *entry) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.open != nil {
		_ = e.open.root.Close() // It was only read from; there is nothing to lose.
		e.open = nil
	}
}
