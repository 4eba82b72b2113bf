package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/hostuser"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// mountMapper has the steps of a tree show detached mounts, in which root's
// files are those of the child's user, in place of paths of the host.
type mountMapper struct {
	u      *childUsers
	user   *hostuser.User
	points []survey.MountPoint
	// files are the mounts, which belong to the mountMapper.
	files []*os.File
	steps []helper.Op
	// hidden are the mounts below what is shown that cannot be mapped.
	hidden []string
}

// mapSteps replaces the sources of steps. The files are the caller's. An error of
// the type errShared means that the child cannot have a user of its own.
func (r *Runner) mapSteps(id *hostuser.User, steps []helper.Op) ([]helper.Op, []*os.File, error) {
	points, err := r.mountPoints()
	if err != nil {
		return nil, nil, err
	}
	m := &mountMapper{u: &r.platform.users, user: id, points: points}
	for i := range steps {
		if err := m.addStep(steps[i]); err != nil {
			closeAll(m.files)
			return nil, nil, err
		}
	}
	if len(m.hidden) > 0 {
		r.logger.Warn("sandbox: not shown to a child, since it cannot be shown as its user's", "mounts", m.hidden)
	}
	return m.steps, m.files, nil
}

// addStep appends one step, and those for the mounts below it.
func (m *mountMapper) addStep(op helper.Op) error {
	if covered := m.coveredBy(op.Path); covered != "" {
		if op.Do == helper.DoBind || op.Do == helper.DoOverlay {
			return &errShared{covered, errors.New("another path of the reach lies in it")}
		}
		return nil
	}
	if op.Do != helper.DoBind && op.Do != helper.DoOverlay {
		m.steps = append(m.steps, op)
		return nil
	}
	source, dir, err := openSource(&op)
	if op.Optional && errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("tree: %s %s: %w", op.Do, op.Path, err)
	}
	defer source.Close()
	if op.Tree, err = m.cloneMount(&op, source, op.Source); err != nil {
		return err
	}
	m.steps = append(m.steps, op)
	if op.Do == helper.DoBind && dir {
		return m.addSubmounts(op)
	}
	return nil
}

// coveredBy returns the mount that is not shown in which a path lies.
func (m *mountMapper) coveredBy(path string) string {
	for _, h := range m.hidden {
		if reach.Within(h, path) {
			return h
		}
	}
	return ""
}

// openSource opens what a step shows without following links, and compares it
// with what was judged.
func openSource(op *helper.Op) (f *os.File, dir bool, err error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd := -1
	for {
		fd, err = unix.Openat2(unix.AT_FDCWD, op.Source, how)
		if err != unix.EINTR && err != unix.EAGAIN { // openat2(2): a rename elsewhere
			break
		}
	}
	if err != nil {
		return nil, false, err
	}
	f = os.NewFile(uintptr(fd), op.Source)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && (op.Ino != 0 || op.Dev != 0) && (st.Ino != op.Ino || st.Dev != op.Dev) {
		err = errors.New("the path was exchanged")
	}
	if err != nil {
		f.Close()
		return nil, false, err
	}
	return f, st.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}

// cloneMount makes the mount of a step and returns its number. What the child may
// write has to be mapped; the rest is shown as it is where that cannot be.
func (m *mountMapper) cloneMount(op *helper.Op, source *os.File, path string) (number int, err error) {
	attributes := op.Attributes()
	f, err := hostuser.Clone(int(source.Fd()), attributes, m.user.Map)
	if err != nil && hostuser.Unmappable(err) {
		if op.Write || op.Do == helper.DoOverlay {
			shared := &errShared{path, err}
			m.u.markUnmappable(source, shared)
			return 0, shared
		}
		f, err = hostuser.Clone(int(source.Fd()), attributes, nil)
	}
	if err != nil {
		return 0, fmt.Errorf("tree: %s %s: %w", op.Do, op.Path, err)
	}
	return m.addMount(f)
}

// addMount adds a mount and returns its number.
func (m *mountMapper) addMount(f *os.File) (number int, err error) {
	m.files = append(m.files, f)
	if len(m.files) > helper.MaxAllTrees {
		return 0, errors.New("tree: too many paths and mounts are in reach")
	}
	return len(m.files), nil
}

// addSubmounts shows the mounts below a step, each by itself: one that cannot
// be mapped would keep all of them from it. In its place what is to be written
// has something empty, since the mount above shows what lies under it.
func (m *mountMapper) addSubmounts(op helper.Op) error {
	for _, p := range survey.Below(m.points, op.Source) {
		inner := op
		inner.Source, inner.Path, inner.Dev, inner.Ino = p.Path, op.Path+p.Path[len(op.Source):], 0, 0
		if m.coveredBy(inner.Path) != "" {
			continue
		}
		source, _, err := openSource(&inner)
		if err != nil {
			continue // another mount hides it
		}
		seen, err := mountOf(source)
		if err == nil && seen == p.ID {
			err = m.addSubmount(inner, source)
		}
		source.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// addSubmount shows one mount below another one.
func (m *mountMapper) addSubmount(op helper.Op, source *os.File) (err error) {
	f, err := hostuser.Clone(int(source.Fd()), op.Attributes(), m.user.Map)
	switch {
	case err == nil:
	case !hostuser.Unmappable(err):
		return fmt.Errorf("tree: %s: %w", op.Path, err)
	case op.Write:
		m.hidden = append(m.hidden, op.Path)
		m.steps = append(m.steps, helper.Op{Do: helper.DoCover, Path: op.Path})
		return nil
	default:
		if f, err = hostuser.Clone(int(source.Fd()), op.Attributes(), nil); err != nil {
			return fmt.Errorf("tree: %s: %w", op.Path, err)
		}
	}
	if op.Tree, err = m.addMount(f); err == nil {
		m.steps = append(m.steps, op)
	}
	return err
}

// mountOf returns the number of the mount in which something was opened.
func mountOf(f *os.File) (uint64, error) {
	var st unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
	return st.Mnt_id, err
}

// mountPoints returns the mounts of the host, read anew when they have changed.
func (r *Runner) mountPoints() ([]survey.MountPoint, error) {
	u := &r.platform.users
	now := r.platform.mounts.countChanges()
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

// markUnmappable records that a file system cannot be mapped.
func (u *childUsers) markUnmappable(source *os.File, why error) {
	var st unix.Stat_t
	if unix.Fstat(int(source.Fd()), &st) != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed[st.Dev] = why
}

// sharingReason returns why a child with a plan has to share the user of the
// gate, as far as that is known before it is tried.
func (u *childUsers) sharingReason(p *reachPlan) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, a := range p.areas {
		if why := u.closed[a.dev]; why != nil && a.write {
			return why
		}
	}
	return nil
}
