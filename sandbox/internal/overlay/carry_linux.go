package overlay

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// grace is how long what was moved away stays under its temporary name: a
// program that found it under the old name a moment before opens it by then.
const grace = 5 * time.Millisecond

// maxAway bounds what waits for its removal: each holds two descriptors.
const maxAway = 128

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
	held  []*displacedFile
	// away is the files that were moved, which shows in their ctime.
	away map[inode]bool
	// again is true when what meets a change of the host is carried again later,
	// so that no copy of it is kept.
	again bool
}

// carryStep carries one change over and marks it.
func (c *carrier) carryStep(s *step) {
	c.removeOldest(maxAway)
	dir, err := s.layer.openBase(filepath.Dir(s.rel))
	if err != nil {
		s.Why = staleParent
		if ignoreMissing(err) != nil {
			s.Why = failureReason(err)
		}
		return
	}
	p := &placing{step: s, carrier: c, dir: dir, name: filepath.Base(s.rel), tmp: tempName()}
	old, err := p.carryOut()
	p.recordOutcome(err)
	if err != nil || old == nil {
		if old != nil {
			old.release()
		}
		_ = dir.Close() // It was only an anchor.
		return
	}
	c.held = append(c.held, old)
}

// removeOldest removes what was moved away at least a moment ago, the oldest
// first, until at most so many are left; then only what need not be waited for.
func (c *carrier) removeOldest(most int) {
	for len(c.held) > 0 {
		h := c.held[0]
		if wait := grace - time.Since(h.moved); wait > 0 {
			if len(c.held) <= most {
				return
			}
			time.Sleep(wait)
		}
		c.held = c.held[1:]
		if err := h.removeOrRestore(); err != nil {
			h.recordOutcome(err)
		}
		h.release()
		_ = h.dir.Close() // It was only an anchor.
	}
}

// failureReason returns why a system call failed, without paths of the private
// layer.
func failureReason(err error) string {
	var errno syscall.Errno
	if lost, ok := errors.AsType[conflict](err); ok {
		return string(lost)
	}
	if errors.As(err, &errno) {
		return "could not be written: " + errno.Error()
	}
	return "could not be written"
}

// tempName returns a name for what has not taken its place yet.
func tempName() string { return randomName("", ".tmp") }

// randomName returns a name that cannot be guessed and that says whose it is.
func randomName(prefix, suffix string) string {
	var r [12]byte
	rand.Read(r[:]) // Never fails; see crypto/rand.
	return ".sallyport-" + prefix + hex.EncodeToString(r[:]) + suffix
}

// placing is one change under way in its opened directory. What is prepared
// has the name tmp until it takes its place; what the host had there has it
// from then on.
type placing struct {
	*step
	*carrier
	dir       *os.File
	name, tmp string
	// ours is what was prepared, and ready whether tmp names it.
	ours  inode
	ready bool
	// inPlace is true while the change is carried over.
	inPlace bool
	// kept says where a copy of what lost lies.
	kept string
}

func (p *placing) dirFD() int { return int(p.dir.Fd()) }

// carryOut carries the change out and returns what it moved away, nil when there
// was nothing.
func (p *placing) carryOut() (old *displacedFile, err error) {
	switch {
	case p.do == modeOfDir:
		err = p.chmodDir()
	case p.do == removeAny && !p.base.exists:
	default:
		if err = p.prepareTemp(); err == nil {
			old, err = p.installTemp()
		}
		if p.ready {
			err = errors.Join(err, p.giveUp(err))
		}
	}
	p.inPlace, p.made = err == nil, p.ours
	return old, err
}

// prepareTemp makes what is to take the place, if anything is.
func (p *placing) prepareTemp() error {
	switch p.do {
	case placeFile:
		return p.copyFile()
	case placeLink:
		return p.createLink()
	case makeDir:
		return p.createDir()
	case removeAny:
		return nil
	default:
		return errors.New("unknown change")
	}
}

// giveUp keeps what was prepared when the host was faster, and removes it
// otherwise.
func (p *placing) giveUp(why error) error {
	if _, lost := errors.AsType[conflict](why); lost && !p.again {
		return p.preserveOurs()
	}
	p.dropOurs()
	return nil
}

// installTemp has what was prepared take its place, or nothing when the change
// is a removal. A name that was free must still be free.
func (p *placing) installTemp() (*displacedFile, error) {
	if !p.base.exists {
		err := unix.Renameat2(p.dirFD(), p.tmp, p.dirFD(), p.name, unix.RENAME_NOREPLACE)
		switch {
		case errors.Is(err, unix.EEXIST):
			return nil, conflict(staleRace)
		case err == nil:
			p.ready = false
		}
		return nil, err
	}
	h, err := p.openDisplaced()
	if err != nil {
		return nil, err
	}
	return h, h.moveAway(p.do != removeAny)
}

// recordOutcome records in the change whether it was carried over, or why not.
func (p *placing) recordOutcome(err error) {
	lost, stale := errors.AsType[conflict](err)
	p.Committed = p.inPlace
	switch {
	case stale:
		p.Why = string(lost)
	case err != nil:
		p.Why = failureReason(err)
	}
	if p.kept != "" {
		p.Why += "; " + p.kept
	}
}

// What is kept of a change that met one of the host.
const (
	keptOurs = "what the child wrote is kept as "
	keptHost = "what the host had is kept as "
)

// preserveOurs preserves what was prepared beside its place. A directory is
// empty and goes.
func (p *placing) preserveOurs() error {
	if p.do == makeDir && unix.Unlinkat(p.dirFD(), p.tmp, unix.AT_REMOVEDIR) == nil {
		return nil
	}
	return p.preserveTemp(keptOurs)
}

// dropOurs removes what was prepared. The error that counts is another one.
func (p *placing) dropOurs() {
	flags := 0
	if p.do == makeDir {
		flags = unix.AT_REMOVEDIR
	}
	_ = unix.Unlinkat(p.dirFD(), p.tmp, flags)
}

// preserveTemp renames what tmp names so that it stays, and records the name.
func (p *placing) preserveTemp(what string) error {
	name := randomName("kept-", "")
	if err := unix.Renameat2(p.dirFD(), p.tmp, p.dirFD(), name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	p.Kept = filepath.Join(filepath.Dir(p.Path), name)
	p.kept = what + p.Kept
	return nil
}

// copyFile copies a file beside its place.
func (p *placing) copyFile() (err error) {
	from, err := p.openUpper()
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	// No other process may open it before it has its owner and mode.
	fd, err := unix.Openat(p.dirFD(), p.tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	p.ready = true
	to := os.NewFile(uintptr(fd), p.tmp)
	defer to.Close() // Synced by then, or the error is known.
	if info.Size() != p.Bytes {
		return errors.New("the private layer changed")
	}
	if err := copyData(to, from, p.Bytes); err != nil {
		return err
	}
	if err := p.setAttributes(to, info); err != nil {
		return err
	}
	if err := to.Sync(); err != nil {
		return err
	}
	return p.recordInode()
}

// recordInode records the inode of what was prepared.
func (p *placing) recordInode() error {
	s, err := statAt(p.dir, p.tmp)
	if err == nil && !s.exists {
		err = unix.ENOENT
	}
	p.ours = inodeOf(&s.st)
	return err
}

// setAttributes gives a file its mode and time, and the owner of the file that it
// replaces; a new one belongs to the user of this process, as the child's files
// do. Only a privileged process may change owners; for the others the file is
// their own, as with every editor. The owner comes before the mode, which a
// change of owner would cut.
func (p *placing) setAttributes(f *os.File, info fs.FileInfo) error {
	if os.Geteuid() == 0 && p.base.exists && !p.base.isDir() {
		_ = f.Chown(int(p.base.st.Uid), int(p.base.st.Gid)) // Not being allowed to is no failure.
	}
	// Permission bits only: a setuid bit is not carried over.
	if err := f.Chmod(p.mode); err != nil {
		return err
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(info.ModTime().UnixNano())}
	return unix.UtimesNanoAt(p.dirFD(), p.tmp, times, unix.AT_SYMLINK_NOFOLLOW)
}

func (p *placing) createLink() error {
	target, err := os.Readlink(p.upperPath())
	if err != nil {
		return err
	}
	if err := unix.Symlinkat(target, p.dirFD(), p.tmp); err != nil {
		return err
	}
	p.ready = true
	return p.recordInode()
}

// createDir makes a directory, which takes the place of a file where one is. What
// belongs into it follows.
func (p *placing) createDir() error {
	if err := unix.Mkdirat(p.dirFD(), p.tmp, 0o700); err != nil {
		return err
	}
	p.ready = true
	if err := p.recordInode(); err != nil {
		return err
	}
	return p.setMode(p.tmp, p.mode|0o700)
}

// chmodDir keeps a directory open to its owner until setFinalMode.
func (p *placing) chmodDir() error {
	p.ours = inodeOf(&p.base.st)
	now, err := statAt(p.dir, p.name)
	if err == nil && !p.base.isUnchanged(now) {
		err = conflict(staleRace)
	}
	if err != nil {
		return err
	}
	return p.setMode(p.name, p.mode|0o700)
}

// setFinalMode gives a directory its mode.
func (c *carrier) setFinalMode(s *step) {
	if !s.Committed || s.do != makeDir && s.do != modeOfDir || s.mode&0o700 == 0o700 {
		return
	}
	dir, err := s.layer.openBase(filepath.Dir(s.rel))
	if err == nil {
		p := &placing{step: s, carrier: c, dir: dir, name: filepath.Base(s.rel), ours: s.made}
		err = p.setMode(p.name, s.mode)
		_ = dir.Close() // It was only an anchor.
	}
	if err != nil {
		s.Why = "its mode " + failureReason(err)
	}
}

// setMode sets the permission bits of a directory and keeps the bits that say
// how its entries are owned.
func (p *placing) setMode(name string, mode fs.FileMode) error {
	fd, err := unix.Openat(p.dirFD(), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if inodeOf(&st) != p.ours {
		return conflict(staleRace)
	}
	p.made = p.ours
	return unix.Fchmod(fd, uint32(mode)|st.Mode&(unix.S_ISGID|unix.S_ISVTX))
}
