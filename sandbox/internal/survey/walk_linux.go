package survey

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
)

// addRoot resolves a path of the reach. What does not exist is left out: no
// mount shows it. What cannot be resolved is masked under its given name.
func (w *walker) addRoot(roots []reachRoot, given, op string) []reachRoot {
	given = filepath.Clean(given)
	real, err := filepath.EvalSymlinks(given)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return roots
	case err != nil:
		w.addMask(Mask{Path: given, Class: denyfloor.Absolute, Why: whyUnreadable})
		return roots
	}
	return append(roots, reachRoot{given, real, op})
}

// surveyRoot judges a path of the reach by each of its names and walks it,
// unless the walk around it did.
func (w *walker) surveyRoot(r reachRoot, walked bool) error {
	if w.kernel[r.real] {
		return nil
	}
	info, err := os.Lstat(r.real)
	if err != nil {
		return errChanged
	}
	for _, name := range []string{r.real, r.given} {
		if m, denied := w.checkName(name, w.isWritable(r.real), info.Mode().IsRegular()); denied {
			m.Path, m.Dir = r.real, info.IsDir()
			w.addMask(m)
			if !m.WriteOnly {
				return nil
			}
		}
	}
	if !info.IsDir() {
		if w.isLinked(info) {
			w.addMask(Mask{Path: r.real, Class: denyfloor.Absolute, Why: whyLinked})
		}
		return nil
	}
	if !walked {
		if err := w.surveyDir(surveyedDir{r.real, r.real}, w.isWritable(r.real), 0); err != nil {
			return err
		}
	}
	if r.given != r.real {
		return w.surveyAlias(surveyedDir{r.real, r.given})
	}
	return nil
}

// sortedMasks sorts the masks and drops those that another one covers.
func (w *walker) sortedMasks() ([]Mask, error) {
	all := slices.SortedFunc(maps.Values(w.masks), func(a, b Mask) int { return strings.Compare(a.Path, b.Path) })
	var out []Mask
	for _, m := range all {
		covered := slices.ContainsFunc(out, func(o Mask) bool {
			return o.Dir && !o.Kept && (m.WriteOnly || !o.WriteOnly) && o.Covers(m.Path)
		})
		if !covered {
			var st unix.Stat_t
			if unix.Lstat(m.Path, &st) == nil {
				m.Dev, m.Ino = uint64(st.Dev), st.Ino
			}
			out = append(out, m)
		}
		if len(out) > w.limit.masks {
			return out, w.findOverflow(pathsOf(all))
		}
	}
	return out, nil
}

// surveyDir surveys one directory and what lies below it.
func (w *walker) surveyDir(p surveyedDir, write bool, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.kernel[p.real] {
		return nil // It is masked.
	}
	if depth > w.limit.depth {
		return w.maskWhole(p.real, whyDeep)
	}
	if w.directories >= w.bounds.directories {
		return w.findOverflow(w.visited)
	}
	w.directories++
	w.visited = append(w.visited, p.real)
	if w.crowded[p.real] && !p.isAlias() {
		return w.withholdDir(p, write, depth)
	}
	l, err := w.listDir(p, write)
	if err != nil || l == nil {
		return err
	}
	if l.repository && write {
		if err := w.maskRepository(p, depth); err != nil {
			return err
		}
	}
	if w.modules[p.real] {
		w.guardSubmodules(p, l)
	}
	for _, h := range l.hits {
		if err := w.maskHit(p.childOf(h.name), h, write, depth); err != nil {
			return err
		}
	}
	for _, name := range l.links {
		if err := w.followLink(p.childOf(name), write); err != nil {
			return err
		}
	}
	for _, name := range l.subs {
		c := p.childOf(name)
		if err := w.surveyDir(c, write || slices.Contains(w.write, c.real), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// listDir returns what counts in a directory, from memory when it has not
// changed. nil means that it is gone or was masked as a whole.
func (w *walker) listDir(p surveyedDir, write bool) (*dirListing, error) {
	var st unix.Stat_t
	if err := unix.Lstat(p.real, &st); err != nil {
		return nil, w.handleUnlisted(p, write, err)
	}
	key := dirKey{w.floor, p, write}
	if l := w.cache.get(key, stateOf(&st), w.linkedKey); l != nil {
		return l, nil
	}
	l, err := w.scanDir(p, write)
	if err != nil {
		return nil, w.handleUnlisted(p, write, err)
	}
	if l.stable {
		w.cache.store(key, l)
	}
	return l, nil
}

// handleUnlisted masks, skips or refuses a directory that could not be listed.
func (w *walker) handleUnlisted(p surveyedDir, write bool, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return errChanged
	case errors.Is(err, fs.ErrPermission):
		return w.maskUnreadable(p.real, write)
	default:
		return err
	}
}

// maskUnreadable masks a directory that cannot be listed, unless the child cannot
// get into it either.
func (w *walker) maskUnreadable(dir string, write bool) error {
	if isClosed(dir, write) {
		return w.rejectInner(dir, whyUnreadable)
	}
	return w.maskWhole(dir, whyUnreadable)
}

// maskWhole masks a directory that is not judged.
func (w *walker) maskWhole(dir, why string) error {
	if err := w.rejectInner(dir, why); err != nil {
		return err
	}
	w.addIfInReach(Mask{Path: dir, Dir: true, Class: denyfloor.Absolute, Why: why})
	return nil
}

// rejectInner refuses a part of the reach within a directory that is not
// judged: it could not be shown.
func (w *walker) rejectInner(dir, why string) error {
	for _, r := range w.reach {
		if r != dir && reach.Within(dir, r) {
			return fmt.Errorf("survey of the reach: %s is %s and contains %s; declare the inner path alone", shortenPath(dir), why, shortenPath(r))
		}
	}
	return nil
}

// The reasons of masks over what could not be judged. Depth is no reason to
// refuse: a child that makes a deep tree would keep all later ones from
// starting.
const (
	whyUnreadable = "a directory that cannot be listed, so that nothing in it can be judged"
	whyDeep       = "a directory too deep in the reach for anything in it to be judged"
)

// isClosed reports whether a directory that this process cannot list is closed
// to a child of the same user as well: it must not be able to pass through by
// a name that it knows, nor, where it may write, to change the mode of what
// its user owns.
func isClosed(dir string, write bool) bool {
	if unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, unix.AT_EACCESS) == nil {
		return false
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		// Whatever hides its owner hides the rest of it.
		return errors.Is(err, unix.EACCES)
	}
	return !write || int(st.Uid) != os.Geteuid()
}
