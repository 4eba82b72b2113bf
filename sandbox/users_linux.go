package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/hostuser"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// childUsers says as whom children run on the host. A child of root has a user
// of its own; where the machine cannot give it one it shares that of the gate,
// as a child of an ordinary user does.
type childUsers struct {
	once sync.Once
	// shared is whether the last child had to share.
	shared atomic.Bool

	mu     sync.Mutex
	opened *hostuser.Pool
	pool   *hostuser.Pool // the same; nil when all children share
	why    string         // why they do
	// points are the mounts of the host at a count of their changes, closed the
	// devices that could not be mapped then.
	points []survey.MountPoint
	closed map[uint64]error
	count  uint64
	known  bool
}

// errShared says that a child cannot have a user of its own, and why.
type errShared struct {
	path string
	err  error
}

func (e *errShared) Error() string {
	return "children run as the user of the gate because " + e.path + " cannot be shown as another user's: " + e.err.Error()
}

func (e *errShared) Unwrap() error { return e.err }

// openUsers finds out, once, whether children have users of their own.
func (r *Runner) openUsers() *childUsers {
	u := &r.platform.users
	u.once.Do(func() {
		pool, why := (*hostuser.Pool)(nil), ""
		switch {
		case !r.platform.namespaces:
			why = "the level " + string(r.o.Level) + " has no user namespace"
		case os.Geteuid() != 0:
			why = "the gate does not run as root"
		case r.o.without.has(layerUsers):
			why = "switched off"
		default:
			pool, why = r.openPool()
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.opened, u.pool, u.why = pool, pool, why
		u.shared.Store(pool == nil)
	})
	return u
}

// shownPrograms are those of which a helper has had a user of the pool.
var shownPrograms sync.Map

// openPool opens the pool, or says why there is none. What it needs of the
// machine, the first user of this process shows.
func (r *Runner) openPool() (pool *hostuser.Pool, why string) {
	if err := checkProgram(r.platform.self); err != nil {
		return nil, err.Error()
	}
	pool, err := hostuser.Open(r.mapOf)
	if err != nil {
		return nil, err.Error()
	}
	if _, shown := shownPrograms.Load(r.platform.self); shown {
		return pool, ""
	}
	first, err := pool.Acquire()
	switch {
	case err == nil:
		shownPrograms.Store(r.platform.self, true)
		first.Release()
	case !errors.Is(err, hostuser.ErrNone):
		pool.Close()
		return nil, err.Error()
	}
	return pool, ""
}

// giveUpUsers has all children share the user of the gate from now on.
func (r *Runner) giveUpUsers(why error) {
	u := r.openUsers()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pool, u.why = nil, why.Error()
	u.shared.Store(true)
}

// currentPool returns the pool, nil when all children share, and why they do.
func (u *childUsers) currentPool() (*hostuser.Pool, string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.pool, u.why
}

// acquireUser reserves a user for a child, nil when it is to share that of the
// gate.
func (r *Runner) acquireUser(shared bool) (*hostuser.User, error) {
	pool, _ := r.openUsers().currentPool()
	if shared || pool == nil {
		return nil, nil
	}
	id, err := pool.Acquire()
	if errors.Is(err, hostuser.ErrNone) {
		return nil, unavailableError("too many children run on this machine", err)
	}
	return id, err
}

// mapOf makes the user namespace that maps root's files to a user. It belongs to
// no process: that of the launcher's that makes it is ended at once.
func (r *Runner) mapOf(id int) (*os.File, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer theirs.Close()
	sys := &syscall.SysProcAttr{
		Setsid: true, Cloneflags: syscall.CLONE_NEWUSER, UidMappings: hostuser.Swap(id), GidMappings: hostuser.Swap(id),
	}
	proc, err := r.platform.launcher.startHelper(sys, 0, theirs, nil, helperEnv(helper.Arg0))
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = proc.Kill()
		_, _ = proc.Wait()
	}()
	return os.Open("/proc/" + strconv.Itoa(proc.Pid) + "/ns/user")
}

// checkProgram refuses a program file that another user cannot execute: helpers
// of children are this program, started as the child's user.
func checkProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o005 != 0o005 {
		return fmt.Errorf("the program file of the gate has the mode %04o, so that no other user can execute it: chmod 755 it", mode)
	}
	return nil
}

// usersLayer says as whom children run on the host, and what that leaves open.
func (r *Runner) usersLayer(spaces bool, why func(bool, string) string) Layer {
	pool, how := r.platform.users.currentPool()
	switch {
	case !spaces:
		return Layer{"users", false, why(false, "")}
	case pool != nil:
		return Layer{"users", true, fmt.Sprintf("a user and group of the host for each child, from %d to %d", hostuser.First, hostuser.First+hostuser.Count-1)}
	case os.Geteuid() != 0:
		return Layer{"users", false, how + ": children share its user, what it may read of the system, and what the kernel counts for it"}
	default:
		return Layer{"users", false, "children run as root of the host, and share what the kernel counts for it: " + how}
	}
}

// Shared reports why children that may write a path run as root although others
// of this gate do not: what is there cannot be shown as another user's. It is nil
// where they do not, where nothing is there, and where all children share the
// user of the gate, which [Runner.Report] says.
func (r *Runner) Shared(path string) error {
	pool, _ := r.platform.users.currentPool()
	real, err := filepath.EvalSymlinks(path)
	if pool == nil || err != nil {
		return nil
	}
	u, err := pool.Acquire()
	if err != nil {
		return err
	}
	defer u.Release()
	_, trees, err := r.mapSteps(u, []helper.Op{{Do: helper.DoBind, Path: real, Source: real, Write: true}})
	closeAll(trees)
	if shared, ok := errors.AsType[*errShared](err); ok {
		return shared.err
	}
	return nil
}

// closeUsers lets go of the users that no child has any more.
func (r *Runner) closeUsers() {
	if pool := r.platform.users.opened; pool != nil {
		pool.Close()
	}
}

// mountedReach is the steps that show a child its reach, with the mounts that
// they speak of.
type mountedReach struct {
	steps []helper.Op
	trees []*os.File
}

// helperFor returns the helper for a child, with what it is to be shown. A child
// whose reach cannot be shown to a user of its own shares that of the gate.
func (r *Runner) helperFor(o *helperOrder, c *childProcess, j *childJob) (h *readyHelper, m mountedReach, err error) {
	steps := append(j.tree, j.plan.treeOps()...)
	u := r.openUsers()
	pool, _ := u.currentPool()
	why := u.sharingReason(j.plan)
	if shared := pool == nil || why != nil; shared != o.shared {
		o.switchKind()
	}
	for {
		if o.shared && pool != nil {
			if err := r.sharedLevel(c, why); err != nil {
				o.cancel()
				return nil, m, err
			}
		}
		u.shared.Store(o.shared)
		h, err = o.fetchHelper()
		if err == nil && h.user == nil {
			return h, mountedReach{steps: steps}, nil
		}
		if err == nil {
			m.steps, m.trees, err = r.mapSteps(h.user, steps)
			if err == nil {
				return h, m, nil
			}
			h.discard()
		}
		if _, ok := errors.AsType[*errShared](err); !ok || o.shared {
			return nil, m, err
		}
		why = err
		o.cold, o.shared = nil, true
	}
}

// sharedLevel judges a child that has to share the user of root: it is refused
// where strict is demanded.
func (r *Runner) sharedLevel(c *childProcess, why error) error {
	if r.o.Level == sallyport.LevelStrict {
		return unavailableError("the level strict gives each child a user of its own, which this machine cannot do here", why)
	}
	if c.level == sallyport.LevelStrict {
		c.level = sallyport.LevelFull
	}
	r.logger.Warn("sandbox: a child shares the user of the gate", "error", why)
	return nil
}

// chownPipes gives the pipes of a child to its user, which opens them again by
// their names in /dev.
func (h *readyHelper) chownPipes(pipes []*os.File) error {
	if h.user == nil {
		return nil
	}
	for _, f := range pipes {
		if err := f.Chown(h.user.ID, h.user.ID); err != nil {
			return err
		}
	}
	return nil
}
