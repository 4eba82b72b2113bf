package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// commonSelf is what a placeholder commondir holds: the directory itself, by a
// spelling that people do not write.
const commonSelf = "./././.\n"

// addPlaceholders puts something harmless in each place from which a repository
// in reach, or the runtime, could be steered and where nothing is, so that a mount
// can lie there: empty files, empty folders of hooks and submodules, and a commondir
// that names its own directory. They are on the host while a child may write
// there, and go with the last one. What was not put there, because this user
// may not, the child may not put there either.
func (r *Runner) addPlaceholders(c *childProcess, p *reachPlan) error {
	places := map[string][]int{} // by the directory of a repository, or of the reach
	for i := range p.masks {
		if dir := p.masks[i].Repository; dir != "" {
			places[dir] = append(places[dir], i)
		}
	}
	for dir, masks := range places {
		h, err := openRepository(dir)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			continue
		}
		if err != nil {
			return fmt.Errorf("the folder %s: %w", dir, err)
		}
		c.atEnd(h.release)
		for _, i := range masks {
			if err := h.reserveMask(&p.masks[i]); err != nil {
				return unavailableError("the place of "+p.masks[i].Path+" could not be kept free", err)
			}
		}
		p.reserved = append(p.reserved, h.placeholderPaths()...)
	}
	p.masks = slices.DeleteFunc(p.masks, func(m survey.Mask) bool { return m.Missing })
	return nil
}

// heldRepository is the directory of a repository in which a child has
// placeholders.
type heldRepository struct {
	path string
	dir  *os.File
	put  []placeholder
}

// placeholder is one of them: its path in the repository and its file.
type placeholder struct {
	rel      string
	dev, ino uint64
	// lock is the opened file, locked by all children that count on it, of
	// whichever gate and container; nil for a folder.
	lock *os.File
}

// openRepository opens the directory of a repository.
func openRepository(path string) (*heldRepository, error) {
	dir, err := openBeneath(unix.AT_FDCWD, path)
	if err != nil {
		return nil, err
	}
	return &heldRepository{path: path, dir: dir}, nil
}

// openBeneath opens a directory by a path without symbolic links.
func openBeneath(at int, path string) (*os.File, error) {
	fd, err := unix.Openat2(at, path, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// reserveMask puts a placeholder where the path of a mask is missing, and
// records it.
func (h *heldRepository) reserveMask(m *survey.Mask) error {
	rel := strings.TrimPrefix(m.Path, h.path+"/")
	at, base, err := h.openParent(rel, m.Missing)
	if err != nil {
		return dropRefusal(err)
	}
	defer at.Close()
	// What is gone since it was looked at may have been another child's placeholder.
	own := m.Class == denyfloor.Absolute
	st, lock, err := occupyName(at, base, m.Dir, m.Missing || !m.Dir || base == "hooks" || own)
	if err != nil {
		return dropRefusal(err)
	}
	m.Missing, m.Dir = false, st.Mode&unix.S_IFMT == unix.S_IFDIR
	m.Link = st.Mode&unix.S_IFMT == unix.S_IFLNK
	m.Dev, m.Ino = uint64(st.Dev), st.Ino
	if isPlaceholder(&st) {
		h.put = append(h.put, placeholder{rel, uint64(st.Dev), st.Ino, lock})
	}
	return nil
}

// occupyName has something lie at a name, and keeps a placeholder from being
// taken away by who made it. Another gate may take one away at that moment;
// then the next is made.
func occupyName(at *os.File, base string, folder, missing bool) (st unix.Stat_t, lock *os.File, err error) {
	for range lockTries {
		err = unix.Fstatat(int(at.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.ENOENT) && missing {
			if err = createPlaceholder(at, base, folder); err != nil && !errors.Is(err, unix.EEXIST) {
				return st, nil, err
			}
			continue
		}
		if err != nil || !isPlaceholder(&st) || st.Mode&unix.S_IFMT != unix.S_IFREG {
			return st, nil, err
		}
		if lock, err = lockPlaceholder(at, base, &st); err == nil {
			return st, lock, nil
		}
		time.Sleep(lockPause)
	}
	return st, nil, unix.EBUSY
}

// How long a placeholder is tried for that another gate is taking away.
const (
	lockTries = 200
	lockPause = 5 * time.Millisecond
)

// lockPlaceholder shares the lock of a placeholder. The lock lies on the file
// itself, which is what all gates have in common that work in a repository. It is
// one that needs a descriptor for writing to be taken alone (fcntl(2), "Open file
// description locks"): a child sees the file read-only, and can share it at most.
// Where there are no locks it returns nil, and the placeholder stays; the error is
// that the file is another one, or about to go.
func lockPlaceholder(at *os.File, base string, st *unix.Stat_t) (*os.File, error) {
	const flags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(int(at.Fd()), base, unix.O_RDWR|flags, 0)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EROFS) {
		fd, err = unix.Openat(int(at.Fd()), base, unix.O_RDONLY|flags, 0)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	f := os.NewFile(uintptr(fd), base)
	err = lockFile(f, unix.F_RDLCK)
	var named unix.Stat_t
	if err == nil && (unix.Fstatat(int(at.Fd()), base, &named, unix.AT_SYMLINK_NOFOLLOW) != nil || named.Ino != st.Ino) {
		err = unix.EAGAIN
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EAGAIN) {
		return nil, err
	}
	return nil, nil
}

// lockFile locks a whole file or unlocks it, without waiting.
func lockFile(f *os.File, kind int16) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind})
}

// dropRefusal leaves a place alone where this user, and so the child, may not
// write or nothing can be any more.
func dropRefusal(err error) error {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) || errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}

// openParent opens the folder of a name in the repository, and makes it if need
// be.
func (h *heldRepository) openParent(rel string, create bool) (dir *os.File, base string, err error) {
	at := "."
	elems := strings.Split(rel, "/")
	for _, e := range elems[:len(elems)-1] {
		at = filepath.Join(at, e)
		if create {
			if err := unix.Mkdirat(int(h.dir.Fd()), at, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
				return nil, "", err
			}
		}
	}
	dir, err = openBeneath(int(h.dir.Fd()), at)
	return dir, elems[len(elems)-1], err
}

// createPlaceholder makes a placeholder; it has its contents before its name.
func createPlaceholder(at *os.File, base string, folder bool) error {
	stamp := []unix.Timespec{{Sec: fsx.PlaceholderTime}, {Sec: fsx.PlaceholderTime}}
	if folder {
		if err := unix.Mkdirat(int(at.Fd()), base, 0o755); err != nil {
			return err
		}
		return unix.UtimesNanoAt(int(at.Fd()), base, stamp, unix.AT_SYMLINK_NOFOLLOW)
	}
	fd, err := unix.Openat(int(at.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), base)
	defer f.Close()
	if base == "commondir" {
		if _, err := f.WriteString(commonSelf); err != nil {
			return err
		}
	}
	self := fmt.Sprintf("/proc/self/fd/%d", fd)
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, self, stamp, 0); err != nil {
		return err
	}
	return unix.Linkat(unix.AT_FDCWD, self, int(at.Fd()), base, unix.AT_SYMLINK_FOLLOW)
}

// isPlaceholder knows one again, whichever process made it.
func isPlaceholder(st *unix.Stat_t) bool {
	kind := st.Mode & unix.S_IFMT
	return st.Mtim.Sec == fsx.PlaceholderTime && (kind == unix.S_IFDIR || kind == unix.S_IFREG && (st.Size == 0 || st.Size == int64(len(commonSelf))))
}

// placeholderPaths lists the placeholders.
func (h *heldRepository) placeholderPaths() []string {
	out := make([]string, 0, len(h.put))
	for _, p := range h.put {
		out = append(out, filepath.Join(h.path, p.rel))
	}
	return out
}

// release takes the placeholders away that no other child counts on, and the
// folder when that is true of all of them.
func (h *heldRepository) release() {
	defer h.dir.Close()
	var locks []*os.File
	for _, p := range h.put {
		if p.lock != nil {
			defer p.lock.Close()
			locks = append(locks, p.lock)
		}
	}
	// Of two that end at once, the second finds that it is the last.
	for _, kind := range []int16{unix.F_UNLCK, unix.F_WRLCK} {
		for _, f := range locks {
			if lockFile(f, kind) != nil {
				return
			}
		}
	}
	if len(locks) == 0 {
		return
	}
	for _, p := range h.put {
		h.removePlaceholder(p)
	}
}

// removePlaceholder takes one placeholder away, if it is still the one.
func (h *heldRepository) removePlaceholder(p placeholder) {
	at, base, err := h.openParent(p.rel, false)
	if err != nil {
		return
	}
	defer at.Close()
	var st unix.Stat_t
	err = unix.Fstatat(int(at.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || uint64(st.Dev) != p.dev || st.Ino != p.ino || !isPlaceholder(&st) {
		return
	}
	flags := 0
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		flags = unix.AT_REMOVEDIR
	}
	_ = unix.Unlinkat(int(at.Fd()), base, flags) // A hook that a person put there keeps the folder.
}
