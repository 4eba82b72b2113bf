package scoped

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
)

// maxDirEntries bounds a listing.
const maxDirEntries = 100_000

// readStep is how much is read between two looks at the context.
const readStep = 1 << 20

// openedFile is a file that passed every check.
type openedFile struct {
	f *os.File
	// path is the name that the caller used, real where the file lies.
	path, real string
	info       fs.FileInfo
}

// ReadFile implements fs.ReadFileFS. What it returns is what the session has
// seen for the stale-write check. A hard link is read like any other name: no
// path tells where its file has other names, and shared package stores consist
// of hard links; see [denyfloor.Floor.CheckIdentity] for the exception.
func (b *boundFiles) ReadFile(name string) ([]byte, error) {
	o, err := b.openFile(name)
	if err != nil {
		return nil, err
	}
	defer o.f.Close()
	data, err := b.readAll(o.f, o.path, o.info.Size())
	if err != nil {
		return nil, err
	}
	if err := b.rememberRead(o.f, o.real, data); err != nil {
		// Reading changes nothing, so that it goes on when state cannot be
		// written. Writes are refused then: their record cannot be kept.
		b.recordDecision(opRead, o.path, true, ": the read could not be remembered", "")
	}
	b.recordTouch(opRead, o.path)
	return data, nil
}

// readAll reads a file of about the given size, bounded.
func (b *boundFiles) readAll(f *os.File, path string, size int64) ([]byte, error) {
	if size > b.f.maxBytes {
		return nil, b.tooLarge(path)
	}
	// One byte more than the size shows the end without growing; the files of
	// procfs have no size.
	data := make([]byte, 0, max(size+1, 512))
	for {
		if err := b.ctx.Err(); err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
		n, err := f.Read(data[len(data):min(cap(data), len(data)+readStep)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > b.f.maxBytes:
			return nil, b.tooLarge(path)
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, newPathError(opRead, path, err)
		}
	}
}

func (b *boundFiles) tooLarge(path string) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: path, Operation: opRead,
		Detail: fmt.Sprintf("cannot read %s: it is larger than %d bytes", path, b.f.maxBytes),
	}
}

func (b *boundFiles) openFile(name string) (*openedFile, error) {
	p, err := b.checkName(opRead, name)
	if err != nil {
		return nil, err
	}
	if o, h := b.openDirectly(p); o != nil {
		return b.checkFile(o, h)
	}
	pl, err := b.resolveLinks(opRead, p)
	if err != nil {
		return nil, err
	}
	defer pl.release()
	return b.openResolved(p, pl)
}

func (b *boundFiles) openResolved(p string, pl *resolvedPath) (*openedFile, error) {
	if pl.info == nil {
		return nil, newPathError(opRead, p, fs.ErrNotExist)
	}
	if !pl.info.Mode().IsRegular() {
		return nil, b.refuseKind(opRead, p, pl.info.Mode())
	}
	f, err := pl.h.root.OpenFile(pl.rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, b.openError(opRead, p, err)
	}
	return b.checkFile(&openedFile{f: f, path: p, real: pl.realPath()}, pl.h)
}

// openError maps an error of opening beneath a root. An escape at this point
// is a link that has appeared since the name was resolved.
func (b *boundFiles) openError(op, p string, err error) error {
	if innermostText(err) == "path escapes from parent" {
		return b.refusePath(op, p, "a symbolic link leads out of the granted reach")
	}
	return newPathError(op, p, err)
}

// checkFile checks an opened file: where it lies, and that it is a regular
// file.
func (b *boundFiles) checkFile(o *openedFile, h *rootHandle) (_ *openedFile, err error) {
	defer func() {
		if err != nil {
			_ = o.f.Close() // It was only read from; there is nothing to lose.
		}
	}()
	if o.info, err = o.f.Stat(); err != nil {
		return nil, newPathError(opRead, o.path, err)
	}
	if !o.info.Mode().IsRegular() {
		return nil, b.refuseKind(opRead, o.path, o.info.Mode())
	}
	if o.real, err = openedPath(o.f, o.real); err != nil {
		return nil, newPathError(opRead, o.path, err)
	}
	if err := b.checkOpened(opRead, o.path, filepath.Join(h.real, h.only), o.real); err != nil {
		return nil, err
	}
	if reason, denied := b.f.floor.CheckIdentity(o.info); denied {
		return nil, b.refuseFloor(opRead, o.path, reason)
	}
	return o, nil
}

// openedPathByName returns where an open file lies by following its name and
// checking that it still leads to the same file.
func openedPathByName(f *os.File, path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	there, err := os.Lstat(real)
	if err != nil {
		return "", err
	}
	here, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !os.SameFile(there, here) {
		return "", errors.New("the file was exchanged while it was opened")
	}
	return real, nil
}

// Stat implements fs.StatFS. It opens nothing, so it also describes what
// cannot be read, such as a directory or a FIFO.
func (b *boundFiles) Stat(name string) (fs.FileInfo, error) {
	p, err := b.checkName(opRead, name)
	if err != nil {
		return nil, err
	}
	pl, err := b.resolveLinks(opRead, p)
	if err != nil {
		return nil, err
	}
	defer pl.release()
	if pl.info == nil {
		return nil, newPathError(opRead, p, fs.ErrNotExist)
	}
	b.recordTouch(opRead, p)
	return infoUnder(p, pl.info), nil
}

func infoUnder(path string, info fs.FileInfo) fs.FileInfo {
	if base := filepath.Base(path); base != info.Name() {
		return namedInfo{info, base}
	}
	return info
}

// namedInfo is a description under the name by which it was asked for.
type namedInfo struct {
	fs.FileInfo
	name string
}

func (n namedInfo) Name() string { return n.name }

// ReadDir implements fs.ReadDirFS. The entries are sorted; a symbolic link is
// listed as what it is and never followed.
func (b *boundFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	p, err := b.checkName(opRead, name)
	if err != nil {
		return nil, err
	}
	f, err := b.openDirectory(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := f.ReadDir(maxDirEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, newPathError(opRead, p, err)
	}
	if len(raw) > maxDirEntries {
		return nil, &sallyport.Error{
			Code: sallyport.CodeExecutionFailed, Resource: p, Operation: opRead,
			Detail: fmt.Sprintf("cannot list %s: it has more than %d entries", p, maxDirEntries),
		}
	}
	slices.SortFunc(raw, func(x, y fs.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
	out := make([]fs.DirEntry, len(raw))
	kept := make([]dirEntry, len(raw))
	for i, d := range raw {
		kept[i] = dirEntry{b: b, dir: p, name: d.Name(), typ: d.Type()}
		out[i] = &kept[i]
	}
	b.recordTouch(opRead, p)
	return out, nil
}

func (b *boundFiles) openDirectory(p string) (*os.File, error) {
	pl, err := b.resolveLinks(opRead, p)
	if err != nil {
		return nil, err
	}
	defer pl.release()
	if pl.info == nil {
		return nil, newPathError(opRead, p, fs.ErrNotExist)
	}
	f, err := pl.h.root.OpenFile(pl.rel, os.O_RDONLY|openDirFlags, 0)
	if err != nil {
		if !pl.info.IsDir() {
			err = errNotDirectory
		}
		return nil, b.openError(opRead, p, err)
	}
	real, err := openedPath(f, pl.realPath())
	if err == nil {
		err = b.checkOpened(opRead, p, pl.h.real, real)
	}
	if err != nil {
		_ = f.Close() // It was only read from; there is nothing to lose.
		return nil, newPathError(opRead, p, err)
	}
	return f, nil
}

var errNotDirectory = errors.New("not a directory")

// dirEntry is an entry of a listing. Its Info asks the accessor, where the
// system's own would look the path up again without a root.
type dirEntry struct {
	b         *boundFiles
	dir, name string
	typ       fs.FileMode
}

func (d *dirEntry) Name() string { return d.name }

func (d *dirEntry) IsDir() bool { return d.typ.IsDir() }

func (d *dirEntry) Type() fs.FileMode { return d.typ }

// Info implements fs.DirEntry. A symbolic link is described, not followed.
func (d *dirEntry) Info() (fs.FileInfo, error) {
	p, err := d.b.checkName(opRead, filepath.Join(d.dir, d.name))
	if err != nil {
		return nil, err
	}
	pl, err := d.b.resolveLinks(opRead, d.dir)
	if err != nil {
		return nil, err
	}
	defer pl.release()
	if pl.info == nil || pl.h.only != "" {
		return nil, newPathError(opRead, p, fs.ErrNotExist)
	}
	if reason, denied := d.b.f.floor.Check(opRead, filepath.Join(pl.realPath(), d.name)); denied {
		return nil, d.b.refuseFloor(opRead, p, reason)
	}
	info, err := pl.h.root.Lstat(filepath.Join(pl.rel, d.name))
	if err != nil {
		return nil, d.b.openError(opRead, p, err)
	}
	return info, nil
}
