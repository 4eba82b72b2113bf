package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/hostuser"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// users says as whom children run on the host. A child of root has a user of its
// own; where the machine cannot give it one it shares that of the gate, as a
// child of an ordinary user does.
type users struct {
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
	proc, err := r.platform.launcher.start(sys, 0, theirs, nil, helperEnv(helper.Arg0))
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
