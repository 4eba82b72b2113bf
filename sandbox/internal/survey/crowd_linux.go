package survey

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
)

// Bounds of what is shown of a withheld directory: so many entries, which take
// so large a part of the bounds of the survey together and one by one.
const (
	maxShown   = 128
	shownShare = 2
	entryShare = 8
	// maxEntries is how many entries of a directory are put in order.
	maxEntries = 1_000_000
)

// overflowError says that a bound was exceeded, and which directory has most of
// what was counted.
type overflowError struct{ dir string }

func (o *overflowError) Error() string {
	return "survey of the reach: too much lies in " + shortenPath(o.dir)
}

// findOverflow finds the directory to withhold: from the root of the reach with
// the most of the counted paths downwards, as long as one folder has the most
// of them. What is withheld already does not count.
func (w *walker) findOverflow(counted []string) error {
	counted = slices.DeleteFunc(slices.Clone(counted), func(path string) bool {
		for dir := path; dir != "/"; dir = filepath.Dir(dir) {
			if w.crowded[dir] {
				return true
			}
		}
		return false
	})
	dir, most := "", 0
	for _, r := range w.reach {
		if n := countBelow(counted, r); n > most && !w.crowded[r] {
			dir, most = r, n
		}
	}
	for {
		next, n := fullestEntry(counted, dir)
		if n*2 <= most || !isDirectory(next) {
			return &overflowError{dir}
		}
		dir, most = next, n
	}
}

func countBelow(paths []string, dir string) (n int) {
	for _, p := range paths {
		if pathBelow(dir, p) != "" {
			n++
		}
	}
	return n
}

// pathBelow returns the part of a path beneath a directory.
func pathBelow(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok {
		return rest
	}
	return ""
}

// fullestEntry returns the entry of a directory below which most paths lie.
func fullestEntry(paths []string, dir string) (entry string, n int) {
	counts := make(map[string]int)
	for _, p := range paths {
		first, rest, _ := strings.Cut(pathBelow(dir, p), "/")
		if rest == "" {
			continue
		}
		if counts[first]++; counts[first] > n {
			entry, n = joinPath(dir, first), counts[first]
		}
	}
	return entry, n
}

func isDirectory(path string) bool {
	var st unix.Stat_t
	return path != "" && unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func pathsOf(masks []Mask) []string {
	out := make([]string, 0, len(masks))
	for i := range masks {
		out = append(out, masks[i].Path)
	}
	return out
}

// dirEntry is one entry of a withheld directory.
type dirEntry struct {
	name     string
	dir      bool
	born     unix.StatxTimestamp
	dev, ino uint64
}

// withholdDir masks a directory but for its oldest entries, as far as each
// takes a small part of the bounds. Their age is that of their birth, which no
// program sets; where the file system knows none they come by name.
func (w *walker) withholdDir(p surveyedDir, write bool, depth int) error {
	all, err := readEntries(w, p)
	if err != nil {
		return w.handleUnlisted(p, write, err)
	}
	m := Mask{Path: p.real, Dir: true, Class: denyfloor.Absolute}
	m.Why = fmt.Sprintf(whyCrowded, w.limit.directories, w.limit.masks, w.limit.aliases)
	whole := w.bounds
	last := surveyBounds{
		directories: w.directories + w.limit.directories/shownShare, masks: len(w.masks) + w.limit.masks/shownShare,
		aliases: w.limit.aliases, depth: w.limit.depth,
	}
	if isRepository(p.real) {
		all = nil // What steers it would have to be looked for.
	}
	for _, e := range all {
		if len(m.But) == min(maxShown, w.limit.masks/shownShare) {
			break
		}
		shown, err := w.surveyEntry(p.childOf(e.name), e, write, depth, last)
		if err != nil {
			w.bounds = whole
			return err
		}
		if shown {
			m.But = append(m.But, Shown{joinPath(p.real, e.name), e.dev, e.ino})
		}
	}
	w.bounds = whole
	w.addIfInReach(m)
	return nil
}

// surveyEntry surveys one entry and reports whether it can be shown. What was
// found in one that cannot is forgotten.
func (w *walker) surveyEntry(p surveyedDir, e dirEntry, write bool, depth int, last surveyBounds) (bool, error) {
	m, denied := w.checkName(p.named, write, !e.dir)
	if denied && !m.WriteOnly {
		return false, nil
	}
	directories, visited, keys, found := w.directories, len(w.visited), len(w.keys), w.masks
	w.masks, w.bounds = make(map[string]Mask), last
	w.bounds.directories = min(last.directories, directories+max(1, w.limit.directories/entryShare))
	var err error
	switch {
	case denied:
		err = w.maskHit(p, floorHit{name: e.name, dir: e.dir, writeOnly: true, class: m.Class, why: m.Why}, write, depth)
	case e.dir:
		err = w.surveyDir(p, write || slices.Contains(w.write, p.real), depth+1)
	}
	added := w.masks
	w.masks = found
	_, full := errors.AsType[*overflowError](err)
	if err != nil && !full {
		return false, err
	}
	if full || len(added) > max(1, w.limit.masks/entryShare) || len(found)+len(added) > last.masks {
		w.directories, w.visited = directories, w.visited[:visited]
		for _, key := range w.keys[keys:] {
			delete(w.aliased, key)
		}
		w.keys, w.links = w.keys[:keys], w.links[:keys]
		return false, nil
	}
	for _, m := range added {
		w.addMask(m)
	}
	return true, nil
}

// isRepository looks for the marks of a repository in a directory.
func isRepository(dir string) bool {
	return denyfloor.GitDirectory(func(name string) bool {
		var st unix.Stat_t
		return unix.Lstat(joinPath(dir, name), &st) == nil
	})
}

// readEntries lists the directories and files of a directory: those in which
// another part of the reach lies, then the oldest.
func readEntries(w *walker, p surveyedDir) ([]dirEntry, error) {
	f, err := openDir(unix.AT_FDCWD, p.real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []dirEntry
	for len(all) < maxEntries {
		names, err := f.Readdirnames(batch)
		for _, name := range names {
			var st unix.Statx_t
			const want = unix.STATX_TYPE | unix.STATX_BTIME | unix.STATX_INO
			if unix.Statx(int(f.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, want, &st) != nil {
				continue // It is gone.
			}
			kind := uint32(st.Mode) & unix.S_IFMT
			if kind != unix.S_IFDIR && kind != unix.S_IFREG {
				continue
			}
			all = append(all, dirEntry{
				strings.Clone(name), kind == unix.S_IFDIR, st.Btime,
				unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino,
			})
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
	}
	onTheWay := func(e dirEntry) int {
		if slices.ContainsFunc(w.reach, func(r string) bool { return reach.Within(joinPath(p.real, e.name), r) }) {
			return 0
		}
		return 1
	}
	slices.SortFunc(all, func(a, b dirEntry) int {
		return cmp.Or(onTheWay(a)-onTheWay(b), cmp.Compare(a.born.Sec, b.born.Sec), cmp.Compare(a.born.Nsec, b.born.Nsec), strings.Compare(a.name, b.name))
	})
	return all, nil
}
