package survey

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/reach"
)

// maxVisited bounds the entries that one call of Changed looks at; on a warm
// cache they take about 60 ms.
const maxVisited = 50_000

// clockTick is how far a change time can lie behind the clock: file systems
// take the time of the last tick of the kernel, at most 10 ms ago (HZ=100,
// current_time() in fs/inode.c).
const clockTick = 10 * time.Millisecond

// Changed returns what below the write reach was created or changed since a
// moment, by the time of the last change, sorted and at most limit paths. It
// does not say by whom: other processes that write there leave the same times. What
// was removed or renamed away shows in its directory only, which is reported
// when nothing in it is. Changes up to 10 ms before the moment may be among
// them. more means that there is more, or that not everything could be seen.
//
// It looks at upper levels first, at most 50,000 entries, and follows no
// symbolic link below the paths that it is given.
func (s *Surveyor) Changed(ctx context.Context, write []string, since time.Time, limit int) (paths []string, more bool) {
	w := &changeWalk{ctx: ctx, since: since.Add(-clockTick), limit: limit}
	for _, p := range write {
		w.addRoot(p)
	}
	for len(w.queue) > 0 && !w.more {
		d := w.queue[0]
		w.queue = w.queue[1:]
		w.visitDir(d)
	}
	slices.Sort(w.paths)
	return slices.Compact(w.paths), w.more
}

// changeWalk is one walk that looks for changed files.
type changeWalk struct {
	ctx     context.Context
	since   time.Time
	limit   int
	visited int
	roots   []string
	queue   []changedDir
	paths   []string
	more    bool
}

// changedDir is a directory still to be looked at.
type changedDir struct {
	path    string
	changed bool
}

func (w *changeWalk) addRoot(given string) {
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		w.more = w.more || !errors.Is(err, fs.ErrNotExist)
		return
	}
	// An inner path is visited with the outer one; should that follow, twice.
	if slices.ContainsFunc(w.roots, func(r string) bool { return reach.Within(r, real) }) {
		return
	}
	w.roots = append(w.roots, real)
	var st unix.Stat_t
	if unix.Lstat(real, &st) == nil {
		w.visitEntry(real, &st)
	}
}

// visitEntry records one entry and reports whether it changed.
func (w *changeWalk) visitEntry(path string, st *unix.Stat_t) bool {
	changed := !time.Unix(st.Ctim.Unix()).Before(w.since)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		w.queue = append(w.queue, changedDir{path, changed})
	} else if changed {
		w.addPath(path)
	}
	return changed
}

func (w *changeWalk) addPath(path string) {
	if len(w.paths) >= w.limit {
		w.more = true
		return
	}
	w.paths = append(w.paths, path)
}

// visitDir visits the entries of a directory.
func (w *changeWalk) visitDir(d changedDir) {
	f, err := openDir(unix.AT_FDCWD, d.path)
	if err != nil {
		w.more = w.more || !errors.Is(err, fs.ErrNotExist)
		return
	}
	defer f.Close()
	explained := false
	for !w.more {
		names, err := f.Readdirnames(batch)
		for _, name := range names {
			if w.visited++; w.visited > maxVisited {
				w.more = true
				return
			}
			var st unix.Stat_t
			if unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue // It is gone, which its directory shows.
			}
			if w.visitEntry(joinPath(d.path, name), &st) {
				explained = true
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || w.ctx.Err() != nil {
			w.more = true
		}
	}
	if d.changed && !explained {
		w.addPath(d.path)
	}
}
