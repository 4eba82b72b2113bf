package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandbox/internal/cgroup"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/hostuser"
)

// readyHelper is a helper that waits for a child to become.
type readyHelper struct {
	proc     *os.Process
	control  *net.UnixConn
	built    bool         // it has said that its base tree stands
	listener net.Listener // comes with that; nil without namespaces
	direct   []*os.File   // sockets that came and are not served yet
	// bind puts it into its control group, once, and waits until it is there.
	bind  func() error
	onEnd func() // to be called when the tree is gone
	group *controlGroup
	stamp systemStamp
	// user is whom it is on the host; nil is the user of this process.
	user *hostuser.User
}

// systemStamp tells whether what a helper shows is still what it found: whatever
// replaces a file of the system changes its folder, and mounts are counted.
type systemStamp struct {
	mtime, ctime syscall.Timespec
	mounts       uint64
}

func (r *Runner) systemStamp() systemStamp {
	var st syscall.Stat_t
	if syscall.Stat("/etc", &st) != nil {
		return systemStamp{}
	}
	return systemStamp{st.Mtim, st.Ctim, r.platform.mounts.countChanges()}
}

// discard ends a helper that is not needed. The end of its control socket
// would do; the signal does not wait for it to look.
func (h *readyHelper) discard() {
	h.close()
	_ = h.proc.Kill()
	_, _ = h.proc.Wait()
	_ = h.bind() // it is not removed from under the move
	h.onEnd()
}

func (h *readyHelper) close() {
	h.control.Close()
	if h.listener != nil {
		h.listener.Close()
	}
}

// newReadyHelper starts a helper and waits until its base tree stands.
func (r *Runner) newReadyHelper(ctx context.Context) (*readyHelper, error) {
	h, err := r.startHelperAs(r.openUsers().shared.Load())
	if err != nil {
		return nil, err
	}
	return h.awaitOrDiscard(ctx)
}

// awaitOrDiscard waits as awaitReady does, and discards a helper that fails.
func (h *readyHelper) awaitOrDiscard(ctx context.Context) (*readyHelper, error) {
	if err := h.awaitReady(ctx); err != nil {
		h.discard()
		return nil, err
	}
	return h, nil
}

// startHelperAs starts a helper that shares the user of the gate, or has one of
// its own.
func (r *Runner) startHelperAs(shared bool) (*readyHelper, error) {
	id, err := r.acquireUser(shared)
	if err != nil {
		return nil, err
	}
	return r.startHelper(r.helperAttributes(id), id)
}

// startHelper starts a helper in a control group and tells it the base of its
// tree. It waits for neither the tree nor the group. The user is free again
// when the helper and all that has become of it are gone.
func (r *Runner) startHelper(sys *syscall.SysProcAttr, id *hostuser.User) (*readyHelper, error) {
	group, remove, err := r.newGroup()
	if err != nil {
		id.Release()
		return nil, err
	}
	gone := func() { remove(); id.Release() }
	h, err := r.launchHelper(sys, id, group)
	if err != nil {
		gone()
		return nil, err
	}
	h.onEnd, h.group = gone, group
	if err := r.sendBase(h); err != nil {
		h.discard()
		return nil, err
	}
	return h, nil
}

// sendBase tells a helper the base of its tree.
func (r *Runner) sendBase(h *readyHelper) error {
	if h.user == nil {
		m, err := r.sharedBase(h.stamp)
		if err != nil {
			return err
		}
		return m.send(h.control)
	}
	base, err := r.baseFor(h.stamp)
	if err != nil {
		return err
	}
	own := base.all
	steps, trees, err := r.mapSteps(h.user, own.Tree[base.system:])
	if _, ok := errors.AsType[*errShared](err); ok {
		r.giveUpUsers(err) // no helper can be given it
	}
	if err != nil {
		return err
	}
	own.Tree = slices.Concat(own.Tree[:base.system], steps)
	m, err := newMessage(helper.MsgBase, &own)
	if err == nil {
		err = sendTrees(h.control, trees)
	}
	closeAll(trees)
	if err != nil {
		return err
	}
	defer m.body.Close()
	return m.send(h.control)
}

// awaitReady waits until the base tree stands and the helper is in its group.
func (h *readyHelper) awaitReady(ctx context.Context) error {
	defer h.boundWait(ctx)()
	kind, text, fd, err := h.receiveMessage()
	switch {
	case err != nil:
	case kind == helper.MsgFailed:
		err = errors.New(text)
	case kind != helper.MsgReady:
		err = fmt.Errorf("the helper answered %q", string(kind))
	default:
		err = h.markBuilt(fd)
	}
	return errors.Join(ctx.Err(), err, h.bind())
}

// boundWait bounds the waiting for a helper until stop is called.
func (h *readyHelper) boundWait(ctx context.Context) (stop func() bool) {
	_ = h.control.SetReadDeadline(time.Now().Add(helperWait))
	return context.AfterFunc(ctx, func() { _ = h.control.SetReadDeadline(time.Unix(1, 0)) })
}

// markBuilt records that the base tree stands, and opens the listener.
func (h *readyHelper) markBuilt(fd int) (err error) {
	h.built = true
	if fd < 0 {
		return nil
	}
	f := os.NewFile(uintptr(fd), "proxy listener")
	defer f.Close()
	h.listener, err = net.FileListener(f)
	return err
}

// helperEnv is the environment of a helper or of the launcher, whose runtime
// needs one processor, and not to read the limits of its group from the table of
// all mounts. A helper is gone before its garbage counts; the launcher stays.
func helperEnv(role string) []string {
	env := []string{"GOMAXPROCS=1", "GODEBUG=containermaxprocs=0,updatemaxprocs=0", helper.Marker + "=" + role}
	if role == helper.Arg0 {
		env = append(env, "GOGC=off")
	}
	return env
}

// launchHelper executes this program as the helper, in namespaces of its own.
func (r *Runner) launchHelper(sys *syscall.SysProcAttr, id *hostuser.User, group *cgroup.Group) (*readyHelper, error) {
	stampNow := r.systemStamp()
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	h := &readyHelper{control: conn, stamp: stampNow, user: id}
	l := r.platform.launcher
	if id != nil || l != nil && l.proven.Load() && sys.Cloneflags&syscall.CLONE_NEWUSER != 0 {
		err = r.launchBound(h, sys, group, theirs)
	} else {
		err = r.launchHere(h, sys, group, theirs)
	}
	if err != nil {
		h.control.Close()
		return nil, fmt.Errorf("start the helper: %w", err)
	}
	if l != nil {
		l.proven.Store(true)
	}
	return h, nil
}

// launchBound has the launcher start a helper, in its group if that is possible.
func (r *Runner) launchBound(h *readyHelper, sys *syscall.SysProcAttr, group *cgroup.Group, theirs *os.File) error {
	doors, err := r.openDoors(group)
	if err != nil {
		return err
	}
	defer closeAll(doors)
	as := 0
	if h.user != nil {
		as = h.user.ID
	}
	if h.proc, err = r.platform.launcher.startHelper(sys, as, theirs, doors, helperEnv(helper.Arg0)); err != nil {
		return err
	}
	if doors == nil {
		h.moveToGroup(group)
	} else {
		h.bind = func() error { return nil }
	}
	return nil
}

// launchHere has this process start a helper.
func (r *Runner) launchHere(h *readyHelper, sys *syscall.SysProcAttr, group *cgroup.Group, theirs *os.File) (err error) {
	null := r.platform.null
	attr := &os.ProcAttr{Dir: "/", Files: []*os.File{null, null, null, theirs}, Sys: sys, Env: helperEnv(helper.Arg0)}
	r.platform.spawner.run(func() { h.proc, err = os.StartProcess(r.platform.self, []string{helper.Arg0}, attr) })
	if err != nil {
		return err
	}
	if l := r.platform.launcher; l != nil {
		if err = l.guardHelper(h.proc, sys.Cloneflags&syscall.CLONE_NEWPID == 0); err != nil {
			_ = h.proc.Kill()
			_, _ = h.proc.Wait()
			return err
		}
	}
	h.moveToGroup(group)
	return nil
}

// moveToGroup has a helper moved to its control group while it builds its tree:
// the kernel may take tens of milliseconds for it (cgroup_attach_lock and RCU).
func (h *readyHelper) moveToGroup(group *cgroup.Group) {
	h.bind = sync.OnceValue(func() error {
		if group == nil {
			return nil
		}
		if err := group.Add(h.proc.Pid); err != nil {
			return fmt.Errorf("limits: %w", err)
		}
		return nil
	})
	go func() { _ = h.bind() }()
}

// helperAttributes returns the namespaces of a helper and who it is in them.
func (r *Runner) helperAttributes(id *hostuser.User) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if !r.platform.namespaces {
		return a
	}
	uid, gid := childIDs()
	hostUID, hostGID := os.Geteuid(), os.Getegid()
	if id != nil {
		hostUID, hostGID = id.ID, id.ID
	}
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC |
		syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: hostUID, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: hostGID, Size: 1}}
	// An id other than 0 loses its capabilities at execve unless they are
	// ambient. These are for building the tree, bringing loopback up, bounding
	// counters and giving the capabilities back; overlayfs works in a folder of
	// mode 0; the listeners of a child have ports of the system.
	a.AmbientCaps = []uintptr{
		unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_RESOURCE,
	}
	return a
}
