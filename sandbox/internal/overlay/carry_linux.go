package overlay

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// conflict is a change of the host that showed while a change was carried
// over.
type conflict string

func (c conflict) Error() string { return string(c) }

// inode is the number of a file.
type inode struct{ dev, ino uint64 }

func inodeOf(st *unix.Stat_t) inode { return inode{uint64(st.Dev), st.Ino} }

// carrier carries changes over. What the host had in their places it moves
// away first, and removes when nothing was written to it any more.
type carrier struct {
	start time.Time
	held  []*held
	// away is the files that were moved, which shows in their ctime.
	away map[inode]bool
}

// carry carries one change over and marks it.
func (s *step) carry() {
	dir, err := s.layer.openBase(filepath.Dir(s.rel))
	if err != nil {
		s.Why = staleParent
		if ignoreMissing(err) != nil {
			s.Why = failure(err)
		}
		return
	}
	defer dir.Close()
	name := filepath.Base(s.rel)
	now, err := statAt(dir, name)
	switch {
	case err != nil:
		s.Why = failure(err)
		return
	case !s.base.unchanged(now):
		s.Why = staleChanged
		return
	}
	p := &placing{step: s, dir: dir, name: name, tmp: tempName()}
	switch s.do {
	case placeFile:
		err = p.file()
	case placeLink:
		err = p.link()
	case makeDir:
		err = p.mkdir()
	case modeOfDir:
		err = p.chmod()
	case removeAny:
		err = p.remove()
	default:
		err = errors.New("unknown change")
	}
	switch {
	case errors.Is(err, unix.EEXIST):
		s.Why = staleChanged
	case err != nil:
		s.Why = failure(err)
	default:
		s.Committed = true
	}
}

// failure is the reason of a system call that failed, without paths of the
// private layer.
func failure(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return "could not be written: " + errno.Error()
	}
	return "could not be written"
}

// tempName returns a name for what has not taken its place yet.
func tempName() string { return randomName("", ".tmp") }

// randomName returns a name that nobody can guess and that says whose it is.
func randomName(prefix, suffix string) string {
	var r [12]byte
	rand.Read(r[:]) // Never fails; see crypto/rand.
	return ".sallyport-" + prefix + hex.EncodeToString(r[:]) + suffix
}

// placing is one change under way in its opened directory. What is prepared
// has the name tmp until it takes its place.
type placing struct {
	*step
	*carrier
	dir       *os.File
	name, tmp string
	// ours is what was prepared, and ready whether tmp names it.
	ours  inode
	ready bool
	// stands is true while the change is carried over.
	stands bool
	// kept says where a copy of what lost lies.
	kept string
}

func (p *placing) fd() int { return int(p.dir.Fd()) }

// file copies a file beside its place and renames it.
// What is kept of a change that met one of the host.
const (
	keptOurs = "what the child wrote is kept as "
	keptHost = "what the host had is kept as "
)

// keepOurs keeps what was prepared beside its place. A directory is empty and
// goes.
func (p *placing) keepOurs() error {
	if p.do == makeDir && unix.Unlinkat(p.fd(), p.tmp, unix.AT_REMOVEDIR) == nil {
		return nil
	}
	return p.keep(keptOurs)
}

// dropOurs removes what was prepared. The error that counts is another one.
func (p *placing) dropOurs() {
	flags := 0
	if p.do == makeDir {
		flags = unix.AT_REMOVEDIR
	}
	_ = unix.Unlinkat(p.fd(), p.tmp, flags)
}

// keep gives what tmp names a name to stay, and says so.
func (p *placing) keep(what string) error {
	name := randomName("kept-", "")
	if err := unix.Renameat2(p.fd(), p.tmp, p.fd(), name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	p.Kept = filepath.Join(filepath.Dir(p.Path), name)
	p.kept = what + p.Kept
	return nil
}

func (p *placing) file() (err error) {
	from, err := p.openUpper()
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	// Nobody else may open it before it has its owner and mode.
	fd, err := unix.Openat(p.fd(), p.tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	to := os.NewFile(uintptr(fd), p.tmp)
	defer func() {
		_ = to.Close() // A second close after success, or the error is known.
		if err != nil {
			_ = unix.Unlinkat(p.fd(), p.tmp, 0) // The error that counts is the other one.
		}
	}()
	if n, err := io.Copy(to, io.LimitReader(from, p.Bytes+1)); err != nil {
		return err
	} else if n != p.Bytes {
		return errors.New("the private layer changed")
	}
	if err := p.dress(to, info); err != nil {
		return err
	}
	if err := to.Sync(); err != nil {
		return err
	}
	return p.install()
}

// identify notes what was prepared.
func (p *placing) identify() error {
	s, err := statAt(p.dir, p.tmp)
	if err == nil && !s.exists {
		err = unix.ENOENT
	}
	p.ours = inodeOf(&s.st)
	return err
}

// dress gives a file its mode and time, and the owner of the file that it
// replaces; a new one belongs to the user of this process, as the child's files
// do. Only a privileged process may change owners; for the others the file is
// their own, as with every editor. The owner comes before the mode, which a
// change of owner would cut.
func (p *placing) dress(f *os.File, info fs.FileInfo) error {
	if os.Geteuid() == 0 && p.base.exists && !p.base.dir() {
		_ = f.Chown(int(p.base.st.Uid), int(p.base.st.Gid)) // Not being allowed to is no failure.
	}
	// Permission bits only: a setuid bit is not carried over.
	if err := f.Chmod(p.mode); err != nil {
		return err
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(info.ModTime().UnixNano())}
	return unix.UtimesNanoAt(p.fd(), p.tmp, times, unix.AT_SYMLINK_NOFOLLOW)
}

// install renames what was prepared to its name. A name that was free must
// still be free. A directory changes places with it and is removed then.
func (p *placing) install() error {
	switch {
	case !p.base.exists:
		return unix.Renameat2(p.fd(), p.tmp, p.fd(), p.name, unix.RENAME_NOREPLACE)
	case p.base.dir() || p.do == makeDir:
		if err := unix.Renameat2(p.fd(), p.tmp, p.fd(), p.name, unix.RENAME_EXCHANGE); err != nil {
			return err
		}
		return p.removeTmp()
	default:
		return unix.Renameat(p.fd(), p.tmp, p.fd(), p.name)
	}
}

func (p *placing) link() error {
	target, err := os.Readlink(p.upper())
	if err != nil {
		return err
	}
	if err := unix.Symlinkat(target, p.fd(), p.tmp); err != nil {
		return err
	}
	if err := p.install(); err != nil {
		_ = unix.Unlinkat(p.fd(), p.tmp, 0) // The error that counts is the other one.
		return err
	}
	return nil
}

// mkdir makes a directory, which takes the place of a file where one is. What
// belongs into it follows.
func (p *placing) mkdir() error {
	if err := unix.Mkdirat(p.fd(), p.tmp, 0o700); err != nil {
		return err
	}
	err := p.setMode(p.tmp, p.mode|0o700)
	if err == nil {
		err = p.install()
	}
	if err != nil {
		_ = unix.Unlinkat(p.fd(), p.tmp, unix.AT_REMOVEDIR) // The error that counts is the other one.
	}
	return err
}

// chmod keeps a directory open to its owner until finish.
func (p *placing) chmod() error { return p.setMode(p.name, p.mode|0o700) }

// finish gives a directory its mode.
func (s *step) finish() {
	if !s.Committed || s.do != makeDir && s.do != modeOfDir || s.mode&0o700 == 0o700 {
		return
	}
	dir, err := s.layer.openBase(filepath.Dir(s.rel))
	if err == nil {
		p := &placing{step: s, dir: dir, name: filepath.Base(s.rel)}
		err = p.setMode(p.name, s.mode)
		_ = dir.Close() // It was only an anchor.
	}
	if err != nil {
		s.Why = "its mode " + failure(err)
	}
}

// setMode sets the permission bits of a directory and keeps the bits that say
// how its entries are owned.
func (p *placing) setMode(name string, mode fs.FileMode) error {
	fd, err := unix.Openat(p.fd(), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if info, err := os.Lstat(p.upper()); err == nil && name == p.tmp && os.Geteuid() == 0 {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = unix.Fchown(fd, int(owner.Uid), int(owner.Gid)) // Not being allowed to is no failure.
		}
	}
	return unix.Fchmod(fd, uint32(mode)|st.Mode&(unix.S_ISGID|unix.S_ISVTX))
}

// remove takes a file away, or a directory with everything in it: first out of
// sight in one step, then piece by piece.
func (p *placing) remove() error {
	switch {
	case !p.base.exists:
		return nil
	case !p.base.dir():
		return unix.Unlinkat(p.fd(), p.name, 0)
	}
	if err := unix.Renameat2(p.fd(), p.name, p.fd(), p.tmp, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	return p.removeTmp()
}

// removeTmp removes what tmp names, without following links.
func (p *placing) removeTmp() error {
	root, err := os.OpenRoot("/proc/self/fd/" + strconv.Itoa(p.fd()))
	if err != nil {
		return fmt.Errorf("open the directory again: %w", err)
	}
	defer root.Close()
	return root.RemoveAll(p.tmp)
}
