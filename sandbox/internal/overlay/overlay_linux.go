package overlay

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/pending"
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
	// Pending takes what the child changed of a project's configuration that
	// runs commands, until a person has seen it. The zero value takes nothing,
	// and then it is left out.
	Pending pending.Store
	// Binary is the program that was started, shown with what is pending.
	Binary string
	// Surveyor finds what the floor protects under a second name; nil means a
	// new one, which remembers nothing yet.
	Surveyor *survey.Surveyor
}

// Mount is one overlay to be mounted, with its upper directory in Name/upper
// and its work directory in Name/work of the folder that [Overlay.Attach] gets.
type Mount struct {
	// Lower is the directory that is shown, a resolved write path.
	Lower string
	// Name is a single name, Mode what the upper directory is to have.
	Name string
	// Mode is the permission bits of Lower.
	Mode fs.FileMode
	// Dev identifies, with Ino, the directory that was opened as the lower one.
	Dev uint64
	// Ino is its inode.
	Ino uint64
}

// Overlay is the private layer of one child. Its methods must not be called
// at the same time, nor while the child lives, except Mounts.
type Overlay struct {
	// root is the folder of the upper directories; nil before Attach.
	root   *os.File
	layers []*layer
	// names are the write paths as they were given and what they lead to.
	names []writePath
	start time.Time
	o     Options
}

// layer is one write path. base is the directory as it was opened at the
// start: what happens to its name later does not matter.
type layer struct {
	lower, upper string
	base         *os.File
	root         unix.Stat_t // of base
	// closed holds the modes of what the child closed to its own user, which
	// had to be opened to be read.
	closed map[string]fs.FileMode
	// live is true while the child may still change what is in upper: then no
	// mode is changed there, which would follow a link.
	live bool
}

// writePath is a write path: what was given, and the path without links.
type writePath struct{ given, real string }

// New begins a private layer for each write path. The write paths must be
// existing directories; one within another shares the layer of the outer one,
// as does another name of the same. The caller calls [Overlay.Discard] in the
// end.
func New(writes []string, o *Options) (*Overlay, error) {
	v := &Overlay{}
	if o != nil {
		v.o = *o
	}
	v.o.MaxBytes = cmp.Or(v.o.MaxBytes, defaultMaxBytes)
	v.o.MaxEntries = cmp.Or(v.o.MaxEntries, defaultMaxEntries)
	if v.o.Surveyor == nil {
		v.o.Surveyor = survey.New()
	}
	if err := v.openWritePaths(writes); err != nil {
		v.Discard()
		return nil, err
	}
	v.start = nextTick()
	return v, nil
}

// Mounts returns what is to be mounted, outer paths first. The caller owns the
// slice.
func (v *Overlay) Mounts() []Mount {
	out := make([]Mount, 0, len(v.layers))
	for i, l := range v.layers {
		out = append(out, Mount{
			Lower: l.lower, Name: strconv.Itoa(i), Mode: fs.FileMode(l.root.Mode).Perm(), Dev: uint64(l.root.Dev), Ino: l.root.Ino,
		})
	}
	return out
}

// Attach takes over the folder with the upper directories, before the child
// runs. The root of an overlay has the owner of its upper directory, which is
// the child's user.
func (v *Overlay) Attach(root *os.File) error {
	v.root = root
	path := fmt.Sprintf("/proc/self/fd/%d", root.Fd())
	const probe = "user.sallyport"
	if err := unix.Setxattr(path, probe, []byte("y"), 0); err != nil {
		return fmt.Errorf("memory has no user extended attributes, which a private layer needs (Linux 6.6): %w", err)
	}
	if err := unix.Removexattr(path, probe); err != nil {
		return fmt.Errorf("private layer: %w", err)
	}
	for i, l := range v.layers {
		// In whatever namespace the memory was mounted, the path leads there.
		l.upper = fmt.Sprintf("%s/%d/upper", path, i)
	}
	return nil
}

// UsedUp says which bound of its memory the layer has reached; it is empty when
// there is room left.
func (v *Overlay) UsedUp() string { return usedUp(v.root) }

func usedUp(root *os.File) string {
	var s unix.Statfs_t
	if root == nil || unix.Fstatfs(int(root.Fd()), &s) != nil {
		return ""
	}
	switch {
	case s.Blocks > 0 && s.Bavail == 0:
		return fmt.Sprintf("%d bytes", int64(s.Blocks)*s.Bsize)
	case s.Files > 0 && s.Ffree == 0:
		return fmt.Sprintf("%d files", s.Files)
	default:
		return ""
	}
}

// Discard lets go of the private layer, whose memory is free with that. It is
// safe to call it again.
func (v *Overlay) Discard() {
	for _, l := range v.layers {
		if l.base != nil {
			_ = l.base.Close() // It was only looked at.
			l.base = nil
		}
	}
	if v.root != nil {
		_ = v.root.Close() // What is in it is thrown away.
		v.root = nil
	}
}

// openWritePaths opens the write paths, outer ones first.
func (v *Overlay) openWritePaths(writes []string) error {
	for _, w := range writes {
		real, err := filepath.EvalSymlinks(w)
		if err != nil {
			return fmt.Errorf("overlay of %s: %w", w, err)
		}
		v.names = append(v.names, writePath{filepath.Clean(w), real})
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
			return fmt.Errorf("overlay of %s: %w", l.lower, err)
		}
		l.base = f
		if err := unix.Fstat(int(f.Fd()), &l.root); err != nil {
			return fmt.Errorf("overlay of %s: %w", l.lower, err)
		}
		if os.Geteuid() == 0 && l.root.Uid != 0 {
			// The child owns its layer; it would own a directory that it may
			// not write without one.
			return fmt.Errorf("overlay of %s: it belongs to the user %d, and the gate runs as root", l.lower, l.root.Uid)
		}
	}
	return nil
}

// nextTick waits until the clock from which file systems take their times has
// passed the present and returns it: everything that was changed before is
// older, nothing that is changed afterwards is. To wait for that clock to move
// is not enough, for it falls behind by more than a tick on a busy machine,
// and some times are finer than it.
func nextTick() time.Time {
	called := time.Now().Round(0)
	for ; ; time.Sleep(time.Millisecond) {
		if now := coarseNow(); now.After(called) {
			// Only time.Now has the monotonic clock, by which a clock that
			// was set back is found out.
			t := time.Now()
			return t.Add(now.Sub(t.Round(0)))
		}
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
