package overlay

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// findHostChanges looks for changes of the host in a directory that was moved
// away.
func (c *carrier) findHostChanges(parent *os.File, name string) error {
	return c.walkTree(parent, name, 0, func(*os.File, string, bool) error { return nil })
}

// removeTree removes a directory that was moved away, piece by piece. It stops
// at the first piece that the host changed or is writing, which stays.
func (c *carrier) removeTree(parent *os.File, name string) error {
	return c.walkTree(parent, name, 0, func(dir *os.File, name string, isDir bool) error {
		flags := 0
		if isDir {
			flags = unix.AT_REMOVEDIR // Fails when something new is in it.
		}
		return unix.Unlinkat(int(dir.Fd()), name, flags)
	})
}

// maxTree bounds how deep a tree is that is removed.
const maxTree = 512

var errDeep = errors.New("the directory is too deep")

// walkTree calls visit for all in a directory, what is in a directory before the
// directory itself. Each is checked first, and a file stays open until then.
func (c *carrier) walkTree(parent *os.File, name string, depth int, visit func(dir *os.File, name string, isDir bool) error) error {
	if depth > maxTree {
		return errDeep
	}
	fd, err := unix.Openat(int(parent.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close() // It was only an anchor.
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		s, err := statAt(dir, n)
		switch {
		case err != nil:
			return err
		case !s.exists || c.isChanged(&s.st):
			return conflict(staleRace)
		case s.isDir():
			err = c.walkTree(dir, n, depth+1, visit)
		default:
			p := &placing{step: &step{base: s}, carrier: c, dir: dir, name: n}
			var h *displacedFile
			if h, err = p.openDisplaced(); err == nil {
				err = visit(dir, n, false)
				h.release()
			}
		}
		if err != nil {
			return err
		}
	}
	return visit(parent, name, true)
}

// isChanged reports whether the host changed a file since the start. What the
// commit moved has a new ctime by that.
func (c *carrier) isChanged(st *unix.Stat_t) bool {
	start := c.start.Round(0)
	if c.away[inodeOf(st)] {
		return !time.Unix(st.Mtim.Unix()).Before(start)
	}
	return !time.Unix(st.Ctim.Unix()).Before(start)
}
