package scoped

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	places "github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/internal/reach"
)

// Bounds of one resolution. 40 links is what Linux follows (path_resolution(7));
// the steps bound what nested links can make out of few links.
const (
	maxLinks = 40
	maxSteps = 512
)

// errLinked marks a granted path in which a symbolic link has appeared.
var errLinked = errors.New("a symbolic link has appeared in a granted path")

// resolvedPath is where a name leads once every symbolic link in it was followed and
// judged.
type resolvedPath struct {
	entry *grantedEntry
	// h is the open directory of the entry; nil when the entry itself does
	// not exist.
	h *rootHandle
	// rel is the link-free name beneath h.root.
	rel string
	// have is the part of rel whose directories exist, "." when none does.
	have string
	// path is the link-free absolute path.
	path string
	// info describes what is there; nil when nothing is.
	info fs.FileInfo
}

func (pl *resolvedPath) release() {
	if pl.h != nil {
		pl.h.release()
	}
}

// realPath returns the path below the real path of its directory.
func (pl *resolvedPath) realPath() string { return filepath.Join(pl.h.real, pl.rel) }

// resolveLinks follows the symbolic links of a checked path one by one,
// checking each target by reach and floor before the disk is asked about it.
// The result is only a plan: the file is opened beneath its root afterwards,
// and what was opened is judged again.
func (b *boundFiles) resolveLinks(op, p string) (*resolvedPath, error) {
	w := linkWalk{b: b, op: op, asked: p}
	at := b.f.followNames(p)
	e := b.f.findEntry(op, at)
	w.at, w.pending = e.path, reach.SplitElements(e.relativePath(at))
	pl, err := w.followAll()
	if err != nil {
		return nil, err
	}
	if reason, denied := b.f.floor.Check(op, pl.path); denied {
		pl.release()
		return nil, b.refuseFloor(op, p, reason)
	}
	return pl, nil
}

// linkWalk is a resolution in progress: at is free of links, pending is not
// known yet.
type linkWalk struct {
	b         *boundFiles
	op, asked string
	at        string
	pending   []string
	links     int
}

func (w *linkWalk) followAll() (*resolvedPath, error) {
	for step := 0; ; step++ {
		if step > maxSteps || w.links > maxLinks {
			return nil, w.b.refusePath(w.op, w.asked, "too many symbolic links or elements")
		}
		if len(w.pending) == 0 {
			return w.newResolvedPath(nil)
		}
		elem := w.pending[0]
		w.pending = w.pending[1:]
		if elem == ".." {
			w.at = filepath.Dir(w.at)
			continue
		}
		next := filepath.Join(w.at, elem)
		if led, ok := w.b.f.names[next]; ok {
			w.at = led
			continue
		}
		info, target, err := w.statElement(next)
		switch {
		case err != nil && isMissing(err):
			w.pending = append([]string{elem}, w.pending...)
			return w.newResolvedPath(err)
		case err != nil:
			return nil, w.mapError(err)
		case target != "":
			if err := w.replaceLink(target); err != nil {
				return nil, err
			}
		case info != nil && len(w.pending) > 0 && !info.IsDir():
			w.pending = append([]string{elem}, w.pending...)
			return w.newResolvedPath(fs.ErrNotExist)
		default:
			w.at = next
		}
	}
}

// statElement asks the disk about one element, unless it lies outside every granted
// directory or is the granted directory itself, which the operator named.
func (w *linkWalk) statElement(next string) (info fs.FileInfo, target string, err error) {
	e := w.b.f.findEntry(w.op, next)
	if e == nil {
		return nil, "", nil
	}
	rel := e.relativePath(next)
	if rel == "." {
		return nil, "", nil
	}
	if reason, denied := w.b.f.floor.Check(w.op, next); denied {
		return nil, "", w.b.refuseFloor(w.op, w.asked, reason)
	}
	h, err := e.acquireRoot()
	if errors.Is(err, places.ErrLink) {
		return nil, "", w.b.refuseWithheld(w.op, w.asked, e)
	}
	if err != nil {
		return nil, "", err
	}
	defer h.release()
	name, ok := h.nameBeneath(rel)
	if !ok {
		return nil, "", fs.ErrNotExist
	}
	if info, err = h.root.Lstat(name); err != nil {
		return nil, "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err = h.root.Readlink(name)
	}
	return info, target, err
}

// replaceLink replaces a link by its target. The whole new path is judged before
// any of it is looked up.
func (w *linkWalk) replaceLink(target string) error {
	w.links++
	if filepath.IsAbs(target) {
		w.at = filepath.VolumeName(target) + string(filepath.Separator)
		target = target[len(filepath.VolumeName(target)):]
	}
	w.pending = append(reach.SplitElements(target), w.pending...)
	whole := w.b.f.followNames(filepath.Join(w.at, filepath.Join(w.pending...)))
	if w.b.f.findEntry(w.op, whole) == nil {
		return w.b.refusePath(w.op, w.asked, "a symbolic link leads out of the granted reach")
	}
	if reason, denied := w.b.f.floor.Check(w.op, whole); denied {
		return w.b.refuseFloor(w.op, w.asked, reason)
	}
	return nil
}

// newResolvedPath returns the resolved path at which the walk ended. A non-nil
// cause says that the first pending element does not exist.
func (w *linkWalk) newResolvedPath(cause error) (*resolvedPath, error) {
	if slices.Contains(w.pending, "..") {
		// What lies behind a missing directory does not exist either.
		return nil, w.mapError(fs.ErrNotExist)
	}
	path := w.b.f.followNames(filepath.Join(w.at, filepath.Join(w.pending...)))
	e := w.b.f.findEntry(w.op, path)
	if e == nil {
		return nil, w.b.refusePath(w.op, w.asked, "a symbolic link leads out of the granted reach")
	}
	pl := &resolvedPath{entry: e, path: path}
	h, err := e.acquireRoot()
	if errors.Is(err, places.ErrLink) {
		return nil, w.b.refuseWithheld(w.op, w.asked, e)
	}
	if err != nil {
		if isMissing(err) {
			return pl, nil
		}
		return nil, w.mapError(err)
	}
	pl.h = h
	rel, ok := h.nameBeneath(e.relativePath(path))
	if !ok {
		pl.release()
		return nil, w.mapError(fs.ErrNotExist)
	}
	pl.rel, pl.have = rel, "."
	switch {
	case h.only != "":
	case len(w.pending) == 0:
		pl.have = filepath.Dir(rel)
	case e.coversPath(w.at):
		pl.have = e.relativePath(w.at)
	}
	if cause != nil {
		return pl, nil
	}
	pl.info, err = h.root.Lstat(rel)
	if err != nil && !isMissing(err) {
		pl.release()
		return nil, w.mapError(err)
	}
	if pl.info != nil && pl.info.Mode()&fs.ModeSymlink != 0 {
		// Every link was followed, so this one is younger than the walk.
		pl.release()
		return nil, w.mapError(errLinked)
	}
	return pl, nil
}

func (w *linkWalk) mapError(err error) error {
	if errors.Is(err, errLinked) {
		return w.b.refusePath(w.op, w.asked, err.Error())
	}
	return newPathError(w.op, w.asked, err)
}

// checkOpened decides about what was opened: the file must lie where the grant
// says and must not be on the floor, whatever happened to its name in between.
func (b *boundFiles) checkOpened(op, asked, base, real string) error {
	if !reach.Within(base, real) {
		return b.refusePath(op, asked, "what was opened lies outside the granted reach")
	}
	if reason, denied := b.f.floor.CheckDir(op, real); denied {
		return b.refuseFloor(op, asked, reason)
	}
	return nil
}
