package overlay

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// held is what the host has at a place that a change takes: open, so that no
// other file gets its number. Where the kernel grants a lease, a program that
// opens the file for writing waits until it is let go (fcntl(2), "leases").
type held struct {
	*placing
	file   *os.File
	leased bool
	// swapped is true when the change stands in its place.
	swapped bool
	// after is the state right after it was moved away, at the time moved.
	after unix.Stat_t
	moved time.Time
}

// hold opens what is at the place. It refuses what was not judged, and a file
// that a program of the host has open for writing: what that program writes
// next would go to a file without a name.
func (p *placing) hold() (*held, error) {
	flags := unix.O_PATH
	if p.base.kind() == unix.S_IFREG {
		flags = unix.O_RDONLY | unix.O_NONBLOCK
	}
	fd, err := unix.Openat(p.fd(), p.name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) && flags != unix.O_PATH {
		flags = unix.O_PATH
		fd, err = unix.Openat(p.fd(), p.name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	switch {
	case err != nil && ignoreMissing(err) == nil:
		return nil, conflict(staleRace)
	case err != nil:
		return nil, err
	}
	h := &held{placing: p, file: os.NewFile(uintptr(fd), p.Path)}
	now := state{exists: true}
	if err = unix.Fstat(fd, &now.st); err == nil && !p.base.unchanged(now) {
		err = conflict(staleRace)
	}
	if err == nil && flags != unix.O_PATH {
		err = h.lease()
	}
	if err != nil {
		h.release()
		return nil, err
	}
	return h, nil
}

// lease has the kernel say when a program opens the file for writing; it
// refuses while one has. File systems without leases, and files of other
// users, go without: their times are what there is.
func (h *held) lease() error {
	_, err := unix.FcntlInt(h.file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return conflict(staleOpen)
	}
	h.leased = err == nil
	return nil
}

// release lets the file go: a program that waits to open it goes on.
func (h *held) release() { _ = h.file.Close() }

// wanted reports whether a program waits to open the file for writing.
func (h *held) wanted() bool {
	if !h.leased {
		return false
	}
	kind, err := unix.FcntlInt(h.file.Fd(), unix.F_GETLEASE, 0)
	return err != nil || kind != unix.F_RDLCK
}
