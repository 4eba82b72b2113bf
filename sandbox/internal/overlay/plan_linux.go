package overlay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
)

// commitAction is what a commit does with a path.
type commitAction string

const (
	placeFile commitAction = "file"
	placeLink commitAction = "link"
	makeDir   commitAction = "directory"
	modeOfDir commitAction = "mode"
	removeAny commitAction = "remove"
	never     commitAction = "never"
)

// step is one change with what it needs to be carried over.
type step struct {
	sallyport.Change
	layer *layer
	rel   string
	do    commitAction
	// waits is true for a change that a person has to see first.
	waits bool
	mode  fs.FileMode
	// origin is true when the upper file began as a copy of a lower one. Which
	// one the mark does not say when the mount was made in a user namespace.
	origin bool
	base   lowerState
	// made is what was made, or the directory whose mode was changed.
	made inode
}

// lowerState is a path of the lower layer at one moment.
type lowerState struct {
	exists bool
	st     unix.Stat_t
}

func (s lowerState) fileType() uint32 { return s.st.Mode & unix.S_IFMT }
func (s lowerState) isDir() bool      { return s.exists && s.fileType() == unix.S_IFDIR }

// Diff returns what the child wrote, sorted by path. A removed directory is
// one change, as is one that took the place of a file. A file that was opened
// for writing and not changed is none, nor are times and owners. Why is set
// where a change can never be carried over. The error says which bound was
// exceeded.
func (v *Overlay) Diff(ctx context.Context) ([]sallyport.Change, error) {
	steps, err := v.planSteps(ctx)
	if err != nil {
		return nil, err
	}
	return changesOf(steps), nil
}

func changesOf(steps []*step) []sallyport.Change {
	out := make([]sallyport.Change, 0, len(steps))
	for _, s := range steps {
		out = append(out, s.Change)
	}
	return out
}

// planSteps reads the upper layers.
func (v *Overlay) planSteps(ctx context.Context) ([]*step, error) {
	r := &layerReader{ctx: ctx, entries: v.o.MaxEntries, bytes: v.o.MaxBytes, entriesMost: v.o.MaxEntries, bytesMost: v.o.MaxBytes}
	for _, l := range v.layers {
		if l.base == nil || v.root == nil {
			return nil, errors.New("there is no private layer")
		}
		if err := r.readDir(l, "."); err != nil {
			return nil, fmt.Errorf("read what was written below %s: %w", l.lower, err)
		}
	}
	slices.SortStableFunc(r.steps, func(a, b *step) int { return strings.Compare(a.Path, b.Path) })
	return r.steps, nil
}

// layerReader collects steps within bounds.
type layerReader struct {
	ctx     context.Context
	entries int
	bytes   int64
	steps   []*step
	// entriesMost and bytesMost are the bounds from which entries and bytes count down.
	entriesMost int
	bytesMost   int64
}

func (r *layerReader) countEntry(bytes int64) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.entries--; r.entries < 0 {
		return fmt.Errorf("more than %d files, folders and removals were written", r.entriesMost)
	}
	if r.bytes -= bytes; r.bytes < 0 {
		return fmt.Errorf("the files that were written have more than %d bytes, the holes in them included", r.bytesMost)
	}
	return nil
}

// readDir reads one directory of an upper layer. Nothing writes there any more.
func (r *layerReader) readDir(l *layer, rel string) error {
	entries, err := l.listUpper(rel)
	if err != nil {
		return err
	}
	marked := readXattr(filepath.Join(l.upper, rel), "user.overlay.opaque")
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
		if err := r.readEntry(l, filepath.Join(rel, e.Name()), marked == "x"); err != nil {
			return err
		}
	}
	if rel == "." || marked != "y" {
		return nil
	}
	return r.addHidden(l, rel, names)
}

// addHidden adds a removal for what an opaque directory hides of the lower one.
func (r *layerReader) addHidden(l *layer, rel string, kept map[string]bool) error {
	f, err := l.openBase(rel)
	if err != nil {
		// It was no directory, or is none any more.
		return ignoreMissing(err)
	}
	defer f.Close()
	lower, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range lower {
		if kept[name] {
			continue
		}
		if err := r.countEntry(0); err != nil {
			return err
		}
		s, err := l.newStep(filepath.Join(rel, name))
		if err != nil {
			return err
		}
		s.do, s.Kind = removeAny, sallyport.ChangeDeleted
		r.steps = append(r.steps, s)
	}
	return nil
}

// listUpper lists a directory of the upper layer.
func (l *layer) listUpper(rel string) ([]fs.DirEntry, error) {
	dir := filepath.Join(l.upper, rel)
	entries, err := os.ReadDir(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return entries, err
	}
	if err := l.reopen(rel); err != nil {
		return nil, err
	}
	return os.ReadDir(dir)
}

// reopen gives this user access to what the child, the same user, closed to
// itself, and remembers the mode.
func (l *layer) reopen(rel string) error {
	path := filepath.Join(l.upper, rel)
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if _, known := l.closed[rel]; !known {
		l.closed[rel] = info.Mode().Perm()
	}
	return os.Chmod(path, 0o700)
}

// newStep starts a step with the present state of its base.
func (l *layer) newStep(rel string) (*step, error) {
	base, err := l.statLower(rel)
	if err != nil {
		return nil, err
	}
	s := &step{layer: l, rel: rel, base: base}
	s.Path = filepath.Join(l.lower, rel)
	s.Kind = sallyport.ChangeAdded
	if base.exists {
		s.Kind = sallyport.ChangeModified
	}
	return s, nil
}

// readEntry turns one entry of an upper layer into a step.
func (r *layerReader) readEntry(l *layer, rel string, marks bool) error {
	upper := filepath.Join(l.upper, rel)
	info, err := os.Lstat(upper)
	if err != nil {
		return err
	}
	var size int64
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	if err := r.countEntry(size); err != nil {
		return err
	}
	s, err := l.newStep(rel)
	if err != nil {
		return err
	}
	s.mode = info.Mode().Perm()
	if mode, reopened := l.closed[rel]; reopened {
		s.mode = mode
	}
	if !isWhiteout(upper, info, marks) {
		s.origin = hasXattr(upper, "user.overlay.origin")
		return r.addWritten(s, upper, info)
	}
	if s.base.exists {
		s.do, s.Kind = removeAny, sallyport.ChangeDeleted
		r.steps = append(r.steps, s)
	}
	return nil
}

// addWritten adds the step for an entry of the upper layer that is no removal.
func (r *layerReader) addWritten(s *step, upper string, info fs.FileInfo) error {
	same := false
	var err error
	switch {
	case info.IsDir():
		return r.addDirectory(s)
	case info.Mode().IsRegular():
		s.do, s.Bytes = placeFile, info.Size()
		same, err = s.sameFile(info)
	case info.Mode()&fs.ModeSymlink != 0:
		s.do = placeLink
		same, err = s.sameLink(upper)
	default:
		s.do, s.Why = never, "a FIFO, socket or device is not carried over"
	}
	if err != nil || same {
		return err
	}
	r.steps = append(r.steps, s)
	return nil
}

func (r *layerReader) addDirectory(s *step) error {
	switch {
	case !s.base.isDir():
		s.do = makeDir
		r.steps = append(r.steps, s)
	case fs.FileMode(s.base.st.Mode).Perm() != s.mode:
		s.do = modeOfDir
		r.steps = append(r.steps, s)
	}
	return r.readDir(s.layer, s.rel)
}

// isWhiteout reports whether an entry stands for a removal: a character device
// 0:0, or an empty file marked as such in a directory that says that it has
// some. See Documentation/filesystems/overlayfs.rst, "whiteouts and opaque
// directories".
func isWhiteout(path string, info fs.FileInfo, marks bool) bool {
	if info.Mode().IsRegular() {
		return marks && info.Size() == 0 && hasXattr(path, "user.overlay.whiteout")
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && st.Rdev == 0
}

func readXattr(path, name string) string {
	var buf [16]byte
	n, err := unix.Lgetxattr(path, name, buf[:])
	if err != nil || n < 0 {
		return ""
	}
	return string(buf[:n])
}

func hasXattr(path, name string) bool {
	_, err := unix.Lgetxattr(path, name, nil)
	return err == nil
}

// sameFile reports whether an upper file is what the base is.
func (s *step) sameFile(info fs.FileInfo) (bool, error) {
	st := &s.base.st
	if !s.base.exists || s.base.fileType() != unix.S_IFREG || st.Size != info.Size() || fs.FileMode(st.Mode).Perm() != s.mode {
		return false, nil
	}
	u, err := s.openUpper()
	if err != nil {
		return false, err
	}
	defer u.Close()
	dir, err := s.layer.openBase(filepath.Dir(s.rel))
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), filepath.Base(s.rel), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, nil // A base that cannot be read is not known to be equal.
	}
	b := os.NewFile(uintptr(fd), s.Path)
	defer b.Close()
	return equalContents(u, b)
}

func equalContents(a, b io.Reader) (bool, error) {
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, x)
		m, errB := io.ReadFull(b, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false, nil
		}
		if errA != nil || errB != nil {
			ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
			return ended(errA) && ended(errB), nil
		}
	}
}

func (s *step) sameLink(upper string) (bool, error) {
	if !s.base.exists || s.base.fileType() != unix.S_IFLNK {
		return false, nil
	}
	target, err := os.Readlink(upper)
	if err != nil {
		return false, err
	}
	dir, err := s.layer.openBase(filepath.Dir(s.rel))
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer dir.Close()
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(dir.Fd()), filepath.Base(s.rel), buf)
	return err == nil && string(buf[:n]) == target, nil
}

func (s *step) upperPath() string { return filepath.Join(s.layer.upper, s.rel) }

// openUpper opens the file of the upper layer.
func (s *step) openUpper() (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK
	f, err := os.OpenFile(s.upperPath(), flags, 0)
	if s.layer.live || !errors.Is(err, fs.ErrPermission) {
		return f, err
	}
	if err := s.layer.reopen(s.rel); err != nil {
		return nil, err
	}
	return os.OpenFile(s.upperPath(), flags, 0)
}
