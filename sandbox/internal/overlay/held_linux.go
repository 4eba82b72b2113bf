package overlay

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// displacedFile is what the host has at the path of a change: open, so that no
// other file gets its number. Where the kernel grants a lease, a program that
// opens the file for writing waits until it is let go (fcntl(2), "leases").
type displacedFile struct {
	*placing
	file   *os.File
	leased bool
	// swapped is true when the change stands in its place.
	swapped bool
	// after is the state right after it was moved away, at the time moved.
	after unix.Stat_t
	moved time.Time
}

// openDisplaced opens what the host has at the path of the change. It refuses
// what was not judged, and a file that a program of the host has open for
// writing: what that program writes next would go to a file without a name.
func (p *placing) openDisplaced() (*displacedFile, error) {
	flags := unix.O_PATH
	if p.base.fileType() == unix.S_IFREG {
		flags = unix.O_RDONLY | unix.O_NONBLOCK
	}
	fd, err := unix.Openat(p.dirFD(), p.name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) && flags != unix.O_PATH {
		flags = unix.O_PATH
		fd, err = unix.Openat(p.dirFD(), p.name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	switch {
	case err != nil && ignoreMissing(err) == nil:
		return nil, conflict(staleRace)
	case err != nil:
		return nil, err
	}
	h := &displacedFile{placing: p, file: os.NewFile(uintptr(fd), p.Path)}
	now := lowerState{exists: true}
	if err = unix.Fstat(fd, &now.st); err == nil && !p.base.isUnchanged(now) {
		err = conflict(staleRace)
	}
	if err == nil && flags != unix.O_PATH {
		err = h.acquireLease()
	}
	if err != nil {
		h.release()
		return nil, err
	}
	return h, nil
}

// acquireLease has the kernel say when a program opens the file for writing; it
// refuses while one has. File systems without leases, and files of other
// users, go without: their times are what there is.
func (h *displacedFile) acquireLease() error {
	_, err := unix.FcntlInt(h.file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return conflict(staleOpen)
	}
	h.leased = err == nil
	return nil
}

// release lets the file go: a program that waits to open it goes on.
func (h *displacedFile) release() { _ = h.file.Close() }

// hasWaiter reports whether a program waits to open the file for writing.
func (h *displacedFile) hasWaiter() bool {
	if !h.leased {
		return false
	}
	kind, err := unix.FcntlInt(h.file.Fd(), unix.F_GETLEASE, 0)
	return err != nil || kind != unix.F_RDLCK
}

// moveAway gives the place to what was prepared, or to nothing, and looks at
// what came out: it must be what was judged.
func (h *displacedFile) moveAway(swap bool) error {
	var err error
	if h.swapped = swap; swap {
		err = unix.Renameat2(h.dirFD(), h.tmp, h.dirFD(), h.name, unix.RENAME_EXCHANGE)
	} else {
		err = unix.Renameat2(h.dirFD(), h.name, h.dirFD(), h.tmp, unix.RENAME_NOREPLACE)
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return conflict(staleRace)
	case err != nil:
		return err
	}
	h.moved = time.Now()
	h.carrier.away[inodeOf(&h.base.st)] = true
	h.ready = false
	if !h.cameOut() || h.base.isDir() && h.carrier.findHostChanges(h.dir, h.tmp) != nil {
		return errors.Join(conflict(staleRace), h.putBack())
	}
	return nil
}

// cameOut reports whether what was moved away is what was judged, as it was
// judged: the move itself shows in ctime alone.
func (h *displacedFile) cameOut() bool {
	out, err := statAt(h.dir, h.tmp)
	if err != nil || unix.Fstat(int(h.file.Fd()), &h.after) != nil {
		return false
	}
	a, b := &h.base.st, &h.after
	return inodeOf(&out.st) == inodeOf(b) && inodeOf(a) == inodeOf(b) && a.Mode == b.Mode &&
		a.Mtim == b.Mtim && a.Size == b.Size && !h.hasWaiter()
}

// isTouched reports whether the host has changed what was moved away since then,
// or is about to. Another name of it may have been moved since, which shows in
// ctime.
func (h *displacedFile) isTouched() bool {
	var st unix.Stat_t
	if unix.Fstat(int(h.file.Fd()), &st) != nil || h.hasWaiter() {
		return true
	}
	a := &h.after
	return a.Mtim != st.Mtim || a.Size != st.Size || a.Mode != st.Mode ||
		a.Nlink == 1 && st.Nlink == 1 && a.Ctim != st.Ctim
}

// removeOrRestore removes what was moved away, unless the host has gone on
// writing it: then it gets its place back. It returns what to say of the
// change.
func (h *displacedFile) removeOrRestore() error {
	switch {
	case h.isTouched() && h.do == makeDir:
		// What belongs into the directory is in it by now.
		return errors.Join(conflict(staleRace), h.preserveTemp(keptHost))
	case h.isTouched():
		return errors.Join(conflict(staleRace), h.putBack())
	case !h.base.isDir():
		return unix.Unlinkat(h.dirFD(), h.tmp, 0)
	}
	err := h.carrier.removeTree(h.dir, h.tmp)
	switch {
	case err == nil:
		return nil
	case h.swapped:
		return errors.Join(err, h.preserveTemp(keptHost))
	default:
		return errors.Join(err, h.putBack())
	}
}

// putBack gives what was moved away its place again. What is there by then is
// what was prepared, or newer work of the host: neither is lost.
func (h *displacedFile) putBack() error {
	if h.swapped {
		err := unix.Renameat2(h.dirFD(), h.tmp, h.dirFD(), h.name, unix.RENAME_EXCHANGE)
		if err == nil {
			h.inPlace = false
			return h.putAside()
		}
		if !errors.Is(err, unix.ENOENT) {
			return errors.Join(err, h.preserveTemp(keptHost))
		}
		// The host removed what stood there, so that the place is free.
	}
	h.inPlace = false
	err := unix.Renameat2(h.dirFD(), h.tmp, h.dirFD(), h.name, unix.RENAME_NOREPLACE)
	if err != nil {
		return h.preserveTemp(keptHost)
	}
	return nil
}

// putAside keeps what had to give the place back: what was prepared, or what
// the host put over that, which is newer and stays in the place.
func (h *displacedFile) putAside() error {
	out, err := statAt(h.dir, h.tmp)
	if err == nil && out.exists && inodeOf(&out.st) != h.ours {
		if err = unix.Renameat2(h.dirFD(), h.tmp, h.dirFD(), h.name, unix.RENAME_EXCHANGE); err == nil {
			return h.preserveTemp(keptHost)
		}
	}
	return errors.Join(err, h.preserveOurs())
}
