package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// Bounds of what a child may leave, unless the options say otherwise.
const (
	defaultMaxBytes   = 1 << 30
	defaultMaxEntries = 100_000
)

// Options refine an [Overlay]. The zero value means the defaults.
type Options struct {
	// MaxBytes bounds the sum of the sizes of all files that the child wrote;
	// 0 means 1 GiB.
	MaxBytes int64
	// MaxEntries bounds their number, directories and removals included; 0
	// means 100,000.
	MaxEntries int
	// Surveyor finds what the floor protects under a second name; nil means a
	// new one, which remembers nothing yet.
	Surveyor *survey.Surveyor
}

// Mount is one overlay to be mounted. The paths may hold commas and colons,
// which only fsconfig(2) takes as they are, with "lowerdir+" for Lower (Linux
// 6.5); in the options of mount(2) they need a backslash.
type Mount struct {
	// Lower, Upper and Work are directories for the options of the mount.
	Lower, Upper, Work string
	// Target is where it belongs in the child's tree: the resolved write path.
	Target string
}

// Overlay is the private layer of one child. Its methods must not be called
// at the same time, nor while the child lives, except Mounts.
type Overlay struct {
	dir    string
	layers []*layer
	// names are the write paths as they were given and what they lead to.
	names    []name
	start    time.Time
	limit    Options
	surveyor *survey.Surveyor
}

// layer is one write path. base is the directory as it was opened at the
// start: what happens to its name later does not matter.
type layer struct {
	lower, upper, work string
	base               *os.File
	// closed holds the modes of what the child closed to its own user, which
	// had to be opened to be read.
	closed map[string]fs.FileMode
}

// name is a write path: what was given, and the path without links.
type name struct{ given, real string }

// New makes a private layer for each write path in a new directory, 0700, in
// scratch. The write paths must be existing directories; one within another
// shares the layer of the outer one, as does another name of the same. scratch must not lie in any of them, and
// its file system must be able to hold an upper layer: neither overlayfs
// itself nor one without user extended attributes. The caller calls
// [Overlay.Discard] in the end.
func New(scratch string, writes []string, o *Options) (*Overlay, error) {
	v := &Overlay{limit: Options{MaxBytes: defaultMaxBytes, MaxEntries: defaultMaxEntries}}
	if o != nil {
		v.surveyor = o.Surveyor
		if o.MaxBytes > 0 {
			v.limit.MaxBytes = o.MaxBytes
		}
		if o.MaxEntries > 0 {
			v.limit.MaxEntries = o.MaxEntries
		}
	}
	if v.surveyor == nil {
		v.surveyor = survey.New(nil)
	}
	if err := v.resolve(writes); err != nil {
		return nil, err
	}
	if err := v.prepare(scratch); err != nil {
		return nil, errors.Join(err, v.Discard())
	}
	v.start = nextTick()
	return v, nil
}

// Mounts returns what is to be mounted, outer paths first. The caller owns the
// slice.
func (v *Overlay) Mounts() []Mount {
	out := make([]Mount, 0, len(v.layers))
	for _, l := range v.layers {
		out = append(out, Mount{Lower: l.lower, Upper: l.upper, Work: l.work, Target: l.lower})
	}
	return out
}

// Discard removes the private layer. It is safe to call it again.
func (v *Overlay) Discard() error {
	for _, l := range v.layers {
		if l.base != nil {
			_ = l.base.Close() // It was only looked at.
			l.base = nil
		}
	}
	if v.dir == "" {
		return nil
	}
	// The kernel leaves a directory without any permission in work, and a
	// child may do so elsewhere; only the administrator gets into those.
	_ = filepath.WalkDir(v.dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			err = os.Chmod(path, 0o700)
		}
		if err != nil && d != nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil // What cannot be opened makes RemoveAll fail.
	})
	if err := os.RemoveAll(v.dir); err != nil {
		return fmt.Errorf("remove the private layer: %w", err)
	}
	v.dir = ""
	return nil
}

// resolve opens the write paths, outer ones first.
func (v *Overlay) resolve(writes []string) error {
	for _, w := range writes {
		real, err := filepath.EvalSymlinks(w)
		if err != nil {
			return errors.Join(fmt.Errorf("overlay of %s: %w", w, err), v.Discard())
		}
		v.names = append(v.names, name{filepath.Clean(w), real})
		v.layers = append(v.layers, &layer{lower: real, closed: make(map[string]fs.FileMode)})
	}
	slices.SortStableFunc(v.layers, func(a, b *layer) int { return len(a.lower) - len(b.lower) })
	var outer []*layer
	for _, l := range v.layers {
		if !slices.ContainsFunc(outer, func(o *layer) bool { return reach.Within(o.lower, l.lower) }) {
			outer = append(outer, l)
		}
	}
	v.layers = outer
	for _, l := range v.layers {
		f, err := os.OpenFile(l.lower, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return errors.Join(fmt.Errorf("overlay of %s: %w", l.lower, err), v.Discard())
		}
		l.base = f
	}
	return nil
}

// prepare makes the directories. The root of an overlay has the owner and mode
// of the upper directory, so it gets those of the lower one; the directory
// around it is closed to others.
func (v *Overlay) prepare(scratch string) error {
	scratch, err := filepath.EvalSymlinks(scratch)
	if err != nil {
		return fmt.Errorf("scratch directory: %w", err)
	}
	for _, l := range v.layers {
		if reach.Within(l.lower, scratch) {
			return fmt.Errorf("scratch directory %s lies in the write path %s", scratch, l.lower)
		}
	}
	var vfs unix.Statfs_t
	if err := unix.Statfs(scratch, &vfs); err != nil {
		return fmt.Errorf("scratch directory: %w", err)
	}
	if vfs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return fmt.Errorf("scratch directory %s is an overlay itself, which cannot hold an upper layer; name one on another file system", scratch)
	}
	if v.dir, err = os.MkdirTemp(scratch, "overlay-"); err != nil {
		return fmt.Errorf("scratch directory: %w", err)
	}
	const probe = "user.sallyport"
	if err := unix.Setxattr(v.dir, probe, []byte("y"), 0); err != nil {
		return fmt.Errorf("scratch directory %s has no user extended attributes, which an upper layer needs: %w", scratch, err)
	}
	for i, l := range v.layers {
		if err := v.makeLayer(l, filepath.Join(v.dir, strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}

func (v *Overlay) makeLayer(l *layer, dir string) error {
	l.upper, l.work = filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	for _, d := range []string{dir, l.upper, l.work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	info, err := os.Stat(l.lower)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		if err := os.Chown(l.upper, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(l.upper, info.Mode().Perm())
}

// nextTick waits until the clock from which file systems take their times has
// passed the present and returns it: everything that was changed before is
// older, nothing that is changed afterwards is. To wait for that clock to move
// is not enough, for it falls behind by more than a tick on a busy machine,
// and some times are finer than it.
func nextTick() time.Time {
	called := time.Now().Round(0)
	for {
		if now := coarseNow(); now.After(called) {
			// Only time.Now has the monotonic clock, by which a clock that
			// was set back is found out.
			t := time.Now()
			return t.Add(now.Sub(t.Round(0)))
		}
		time.Sleep(time.Millisecond)
	}
}

// coarseNow is what current_time() in fs/inode.c takes.
func coarseNow() time.Time {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts) != nil {
		return time.Now().Round(0)
	}
	return time.Unix(ts.Unix())
}

// clockSetBack reports whether the wall clock fell behind the steady one by
// more than its usual correction, 0.05 % (adjtimex(2)), since a moment.
func clockSetBack(start time.Time) bool {
	now := time.Now()
	steady := now.Sub(start)
	wall := now.Round(0).Sub(start.Round(0))
	return wall < steady-10*time.Millisecond-steady/1000
}
