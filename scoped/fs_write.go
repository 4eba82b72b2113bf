package scoped

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/fsx"
	places "github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/internal/reach"
)

// Modes of what is created, before the umask of the process.
const (
	newFileMode = 0o644
	newDirMode  = 0o755
)

// WriteFile implements sallyport.FSWriter. The content goes to a new file that
// takes the place of the old one, so a reader sees the old or the new, a
// failure leaves the old, and other names of the old file (hard links) keep
// the old content. A symbolic link that stays inside the reach is kept and its
// target replaced. Mode and, where permitted, owner are kept; extended
// attributes are not.
func (b *boundFiles) WriteFile(name string, data []byte) error {
	p, err := b.checkName(opWrite, name)
	if err != nil {
		return err
	}
	return b.replaceFile(p, func(*os.File) ([]byte, error) { return data, nil })
}

// UpdateFile implements sallyport.FSWriter. Reading and writing must both be
// granted. edit must not write the same file through the accessor: it would
// wait for its own lock until that wait is given up.
func (b *boundFiles) UpdateFile(name string, edit func(old []byte) ([]byte, error)) error {
	if _, err := b.checkName(opRead, name); err != nil {
		return err
	}
	p, err := b.checkName(opWrite, name)
	if err != nil {
		return err
	}
	return b.replaceFile(p, func(old *os.File) ([]byte, error) {
		if old == nil {
			return nil, sallyport.FileNotFound(p)
		}
		o, err := b.checkReadable(p, old)
		if err != nil {
			return nil, err
		}
		data, err := b.readAll(old, p, o.Size())
		if err != nil {
			return nil, err
		}
		return edit(data)
	})
}

// checkReadable checks the file of an update as if it were read by its real
// path: a link may lead from what is readable to what can only be written.
func (b *boundFiles) checkReadable(p string, old *os.File) (fs.FileInfo, error) {
	real, err := openedPath(old, old.Name())
	if err != nil {
		return nil, newPathError(opRead, p, err)
	}
	if b.f.findEntry(opRead, real) == nil {
		return nil, b.refusePath(opRead, p, "a symbolic link leads out of the granted read reach")
	}
	if reason, denied := b.f.floor.Check(opRead, real); denied {
		return nil, b.refuseFloor(opRead, p, reason)
	}
	info, err := old.Stat()
	if err != nil {
		return nil, newPathError(opRead, p, err)
	}
	if reason, denied := b.f.floor.CheckIdentity(info); denied {
		return nil, b.refuseFloor(opRead, p, reason)
	}
	return info, nil
}

func (b *boundFiles) MkdirAll(name string) error {
	p, err := b.checkName(opWrite, name)
	if err != nil {
		return err
	}
	pl, err := b.resolveLinks(opWrite, p)
	if err != nil {
		return err
	}
	defer pl.release()
	if pl.info != nil {
		if !pl.info.IsDir() {
			return newPathError(opWrite, p, errNotDirectory)
		}
		b.recordTouch(opWrite, p)
		return nil
	}
	if pl.h == nil {
		if err := b.createEntry(p, pl); err != nil {
			return err
		}
	}
	f, err := b.makeDir(p, pl, pl.rel)
	if err != nil {
		return err
	}
	f.closeBoth()
	b.recordTouch(opWrite, p)
	return nil
}

// writeFolder is an open directory in which a file is replaced. Everything happens
// relative to it, whatever becomes of its name.
type writeFolder struct {
	root *os.Root
	// dir is the same directory, for its lock, its place and its sync.
	dir  *os.File
	real string
}

func (f *writeFolder) closeBoth() {
	_ = f.dir.Close()  // It was only read from; there is nothing to lose.
	_ = f.root.Close() // Likewise.
}

// openFolder opens a directory beneath a root without waiting for anything.
func openFolder(root *os.Root, rel, path string) (*writeFolder, error) {
	// The dot makes the system insist on a directory; see openDir.
	r, err := root.OpenRoot(rel + string(filepath.Separator) + ".")
	if err != nil {
		return nil, err
	}
	d, err := r.Open(".")
	if err != nil {
		_ = r.Close() // The error that counts is the other one.
		return nil, err
	}
	f := &writeFolder{root: r, dir: d}
	if f.real, err = openedPath(d, path); err != nil {
		f.closeBoth()
		return nil, err
	}
	return f, nil
}

// makeDir opens the directory rel of a place and creates what is missing of
// it, one element after the other, each beneath the one that was opened.
func (b *boundFiles) makeDir(p string, pl *resolvedPath, rel string) (*writeFolder, error) {
	cur, err := openFolder(pl.h.root, pl.have, filepath.Join(pl.h.real, pl.have))
	if err != nil {
		return nil, b.openError(opWrite, p, err)
	}
	lacking, err := filepath.Rel(pl.have, rel)
	if err != nil {
		cur.closeBoth()
		return nil, newPathError(opWrite, p, err)
	}
	for _, elem := range reach.SplitElements(lacking) {
		if err := b.checkOpened(opWrite, p, pl.h.real, filepath.Join(cur.real, elem)); err != nil {
			cur.closeBoth()
			return nil, err
		}
		next, err := stepInto(cur, elem)
		cur.closeBoth()
		if err != nil {
			return nil, b.openError(opWrite, p, err)
		}
		cur = next
	}
	if err := b.checkOpened(opWrite, p, pl.h.real, cur.real); err != nil {
		cur.closeBoth()
		return nil, err
	}
	return cur, nil
}

func stepInto(cur *writeFolder, elem string) (*writeFolder, error) {
	if err := cur.root.Mkdir(elem, newDirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return openFolder(cur.root, elem, filepath.Join(cur.real, elem))
}

// createEntry makes the granted directory of a place.
func (b *boundFiles) createEntry(p string, pl *resolvedPath) (err error) {
	e := pl.entry
	if err := b.createAround(p, e, e.path); err != nil {
		return err
	}
	if pl.h, err = e.acquireRoot(); err != nil {
		if errors.Is(err, places.ErrLink) {
			return b.refuseWithheld(opWrite, p, e)
		}
		return newPathError(opWrite, p, err)
	}
	pl.rel, pl.have = e.relativePath(pl.path), "."
	return nil
}

// createAround makes the directory path, which is an entry's or the folder of
// one, beneath the nearest granted directory around the entry. Without one the
// name is refused: nothing is created where nothing was granted. A link on the
// way is refused as well, since the granted name is meant to be what it says.
func (b *boundFiles) createAround(p string, e *grantedEntry, path string) error {
	if e.parent == nil {
		return b.refusePath(opWrite, p, "the granted directory does not exist and no granted directory contains it")
	}
	h, err := e.parent.acquireRoot()
	if err != nil {
		return b.refusePath(opWrite, p, "the granted directory does not exist, nor does the one that contains it")
	}
	defer h.release()
	if h.only != "" {
		return b.refusePath(opWrite, p, "the granted directory around it is a file")
	}
	cur, err := openFolder(h.root, ".", h.real)
	if err != nil {
		return b.openError(opWrite, p, err)
	}
	for _, elem := range reach.SplitElements(e.parent.relativePath(path)) {
		want := filepath.Join(cur.real, elem)
		next, err := stepInto(cur, elem)
		cur.closeBoth()
		if err != nil {
			return b.openError(opWrite, p, err)
		}
		if cur = next; !denyfloor.SameName(cur.real, want) {
			cur.closeBoth()
			return b.refuseWithheld(opWrite, p, e)
		}
	}
	cur.closeBoth()
	return nil
}

// adoptFile prepares the place of a granted path that does not exist and is to
// become a file. Its folder need not be granted, for nothing else changes in
// it; it is created only beneath a granted one.
func (b *boundFiles) adoptFile(p string, pl *resolvedPath) error {
	e := pl.entry
	dir := filepath.Dir(e.path)
	h, err := openDir(dir)
	if isMissing(err) {
		if err := b.createAround(p, e, dir); err != nil {
			return err
		}
		h, err = openDir(dir)
	}
	if errors.Is(err, places.ErrLink) {
		return b.refuseWithheld(opWrite, p, e)
	}
	if err != nil {
		return newPathError(opWrite, p, err)
	}
	h.once, h.only = true, filepath.Base(e.path)
	pl.h, pl.rel, pl.have = h, h.only, "."
	return nil
}

// parentOf opens the directory in which the file of a place lies or will lie.
func (b *boundFiles) parentOf(p string, pl *resolvedPath) (f *writeFolder, base string, err error) {
	switch {
	case pl.h != nil:
	case pl.path == pl.entry.path:
		err = b.adoptFile(p, pl)
	default:
		err = b.createEntry(p, pl)
	}
	if err != nil {
		return nil, "", err
	}
	if pl.rel == "." {
		return nil, "", newPathError(opWrite, p, syscall.EISDIR)
	}
	if f, err = b.makeDir(p, pl, filepath.Dir(pl.rel)); err != nil {
		return nil, "", err
	}
	base = filepath.Base(pl.rel)
	if reason, denied := b.f.floor.CheckPlace(opWrite, filepath.Join(f.real, base)); denied {
		f.closeBoth()
		return nil, "", b.refuseFloor(opWrite, p, reason)
	}
	return f, base, nil
}

// replaceFile replaces the content of a checked path. content is called under
// the lock of the file with the old one, open for reading, or nil.
func (b *boundFiles) replaceFile(p string, content func(old *os.File) ([]byte, error)) error {
	pl, err := b.resolveLinks(opWrite, p)
	if err != nil {
		return err
	}
	defer pl.release()
	if pl.info != nil && !pl.info.Mode().IsRegular() {
		return b.refuseKind(opWrite, p, pl.info.Mode())
	}
	dir, base, err := b.parentOf(p, pl)
	if err != nil {
		return err
	}
	defer dir.closeBoth()
	real := filepath.Join(dir.real, base)
	old, unlock, err := b.lockCurrent(p, dir, base)
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.checkStale(p, real, old); err != nil {
		return err
	}
	data, err := content(old)
	if err != nil {
		return err
	}
	if err := b.swapIn(p, real, dir, base, old, data); err != nil {
		return newPathError(opWrite, p, err)
	}
	b.recordTouch(opWrite, p)
	return nil
}

// swapIn writes a temporary file beside the old one and renames it.
func (b *boundFiles) swapIn(p, real string, dir *writeFolder, base string, old *os.File, data []byte) (err error) {
	tmp, mode := tempName(), fs.FileMode(newFileMode)
	var was fs.FileInfo
	if old != nil {
		if was, err = old.Stat(); err != nil {
			return err
		}
		// Never more open than the old file, not even while it is empty.
		mode = was.Mode().Perm()
	}
	f, err := dir.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close() // A second close after success, or the error is known.
		if err != nil {
			_ = dir.root.Remove(tmp) // The error that counts is the other one.
		}
	}()
	if was != nil {
		keepOwner(f, was)
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if err := dir.root.Rename(tmp, base); err != nil {
		return err
	}
	if rerr := b.rememberRead(f, real, data); rerr != nil {
		// The file is written. Without the record the next write of this
		// session may be refused as stale, which is the safe side.
		b.recordDecision(opWrite, p, true, ": the read record could not be kept", "")
	}
	return fsx.SyncOpenDir(dir.dir)
}

// tempName returns a name that cannot be guessed and that says whose it is.
func tempName() string {
	var r [12]byte
	rand.Read(r[:]) // Never fails; see crypto/rand.
	return ".sallyport-" + hex.EncodeToString(r[:]) + ".tmp"
}
