package sandbox

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// mountOf returns the number of the mount in which something was opened.
func mountOf(f *os.File) (uint64, error) {
	var st unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
	return st.Mnt_id, err
}

// mountPoints returns the mounts of the host, read anew when they have changed.
func (r *Runner) mountPoints() ([]survey.MountPoint, error) {
	u := &r.platform.users
	now := r.platform.mounts.changes()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known && u.count == now {
		return u.points, nil
	}
	points, err := survey.MountPoints()
	if err != nil {
		return nil, err
	}
	u.points, u.count, u.known, u.closed = points, now, true, map[uint64]error{}
	return points, nil
}

// close notes that a file system cannot be mapped.
func (u *users) close(source *os.File, why error) {
	var st unix.Stat_t
	if unix.Fstat(int(source.Fd()), &st) != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed[st.Dev] = why
}

// sharing returns why a child with a plan has to share the user of the gate, as
// far as that is known before it is tried.
func (u *users) sharing(p *plan) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, a := range p.areas {
		if why := u.closed[a.dev]; why != nil && a.write {
			return why
		}
	}
	return nil
}
