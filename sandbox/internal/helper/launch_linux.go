package helper

import (
	"errors"
	"runtime"
	"syscall"
)

// LauncherArg0 is the name under which the launcher is executed.
const LauncherArg0 = "sallyport-launcher"

// The kinds of messages between the runtime and the launcher.
const (
	// MsgLaunch brings a Launch, the control socket of the helper, and the
	// doors of its control groups and of the launcher's own, as many of each.
	MsgLaunch = 'S'
	// MsgGuard brings a Guard and the pidfd of the helper.
	MsgGuard = 'G'
	// MsgLaunched brings the process id of the helper in eight bytes.
	MsgLaunched = 'P'
)

// MaxLaunchBytes bounds a Launch.
const MaxLaunchBytes = 8 << 10

// maxLaunchFiles bounds the descriptors that come with it: two for each of the
// hierarchies of control groups, of which a kernel has about a dozen.
const maxLaunchFiles = 1 + 2*16

// PackRequest encodes a *Launch or *Guard with its kind in front.
func PackRequest(kind byte, v Message) []byte { return append([]byte{kind}, encodeMessage(v)...) }

// Launch is a helper to be started.
//
// A process in a new user namespace is made by a true fork (package syscall:
// forkAndExecInChild), because its parent has to write the maps of ids while
// it waits. That copies the page tables of the parent, makes all its memory
// copy-on-write, and costs the more the larger the parent is: 2 ms, with 64
// MiB of heap 10 ms. The launcher is a small process that does nothing else.
// Its children are the runtime's (clone(2): CLONE_PARENT), which waits for
// them. When the runtime is gone, it kills them.
type Launch struct {
	// Path is the program.
	Path string
	// Arg0 is its name.
	Arg0 string
	// Env is its environment.
	Env []string
	// Flags are the namespaces, as clone(2) numbers them.
	Flags uintptr
	// UIDs is the map of users in them.
	UIDs []syscall.SysProcIDMap
	// GIDs is the map of groups.
	GIDs []syscall.SysProcIDMap
	// As is the user and group of the host that starts it and owns its user
	// namespace; 0 means those of the launcher.
	As int
	// Caps are the ambient capabilities.
	Caps []uintptr
	// Setsid makes it the leader of a session.
	Setsid bool
}

func (l *Launch) codeFields(c *codec) {
	c.codeText(&l.Path)
	c.codeText(&l.Arg0)
	codeList(c, &l.Env, (*codec).codeText)
	codeNumber(c, &l.Flags)
	codeList(c, &l.UIDs, (*codec).codeIDs)
	codeList(c, &l.GIDs, (*codec).codeIDs)
	codeNumber(c, &l.As)
	codeList(c, &l.Caps, codeNumber[uintptr])
	c.codeBool(&l.Setsid)
}

func (c *codec) codeIDs(m *syscall.SysProcIDMap) {
	codeNumber(c, &m.ContainerID)
	codeNumber(c, &m.HostID)
	codeNumber(c, &m.Size)
}

// Guard is a helper that the runtime has started itself. Its pidfd comes with
// it.
type Guard struct {
	// PID is its number.
	PID int
	// Group has its process group end with it. It is for helpers without a
	// process namespace, whose end is the end of all in it.
	Group bool
}

func (g *Guard) codeFields(c *codec) {
	codeNumber(c, &g.PID)
	c.codeBool(&g.Group)
}

// guardedProcess is a process that ends with the runtime.
type guardedProcess struct {
	Guard
	pidfd int
}

// guardedProcesses are the processes that the launcher kills when the runtime
// is gone. A parent death signal is not enough: it belongs to a task, so that
// it is lost when a second thread executes a program, and descendants do not
// have it (prctl(2), PR_SET_PDEATHSIG).
type guardedProcesses []guardedProcess

// killAll ends all. A pidfd never means another process; the group is killed
// while the number is still that of its leader.
func (w guardedProcesses) killAll() {
	for _, p := range w {
		if p.Group && pidfdSignal(p.pidfd, 0) != syscall.ESRCH {
			_ = syscall.Kill(-p.PID, syscall.SIGKILL)
		}
		_ = pidfdSignal(p.pidfd, syscall.SIGKILL)
	}
}

// dropExited forgets those that have been waited for.
func (w *guardedProcesses) dropExited() {
	left := (*w)[:0]
	for _, p := range *w {
		if pidfdSignal(p.pidfd, 0) == syscall.ESRCH {
			syscall.Close(p.pidfd)
		} else {
			left = append(left, p)
		}
	}
	*w = left
}

// runLauncher starts helpers until the runtime closes the socket or ends. It
// has no parent death signal, since it outlives the runtime by what it takes to
// kill the helpers and what has become of them.
func runLauncher() error {
	// The first lock starts the thread that makes further threads. It starts
	// here, because a thread that starts while this one is in the control group
	// of a child stays there, and all in the group is killed with the child. A
	// program that is linked with C has started it before.
	runtime.LockOSThread()
	var w guardedProcesses
	quit, err := w.serveRequests()
	w.killAll()
	if !quit {
		removeGroups()
	}
	if err == nil {
		syscall.Exit(0)
	}
	return err
}

// serveRequests returns no error at the end of the socket, and whether the
// runtime has said that it comes.
func (w *guardedProcesses) serveRequests() (quit bool, err error) {
	buf, oob := make([]byte, MaxLaunchBytes), make([]byte, syscall.CmsgSpace(4*maxLaunchFiles))
	for {
		n, oobn, _, _, err := syscall.Recvmsg(ControlFD, buf, oob, syscall.MSG_CMSG_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return false, wrapError("launcher socket", err)
		}
		if n == 0 || buf[0] == MsgQuit {
			return n != 0, nil
		}
		fds, err := parseRights(oob[:oobn])
		if err != nil {
			return false, err
		}
		w.dropExited()
		pid, err := w.handleRequest(buf[:n], fds)
		if err == errUser {
			return true, err
		}
		answer := appendUint64([]byte{MsgLaunched}, uint64(pid))
		if err != nil {
			answer = append([]byte{MsgFailed}, err.Error()...)
		}
		if err := syscall.Sendmsg(ControlFD, answer, nil, nil, syscall.MSG_NOSIGNAL); err != nil {
			return false, wrapError("launcher socket", err)
		}
	}
}

// handleRequest does what a request asks for.
func (w *guardedProcesses) handleRequest(msg []byte, fds []int) (pid int, err error) {
	switch {
	case msg[0] == MsgGuard && len(fds) == 1:
		p := guardedProcess{pidfd: fds[0]}
		if err := decodeMessage(msg[1:], &p.Guard); err != nil {
			return 0, wrapError("launcher", err)
		}
		*w = append(*w, p)
		return p.PID, nil
	case msg[0] == MsgLaunch && len(fds)%2 == 1:
		var l Launch
		if err = wrapError("launcher", decodeMessage(msg[1:], &l)); err == nil {
			err = runInCgroups(fds[1:], func() error { pid, err = w.launchHelper(&l, fds[0]); return err })
		}
	default:
		err = errors.New("the launcher got the message '" + string(rune(msg[0])) + "' with " + formatDecimal(int64(len(fds))) +
			" descriptors, which is not what it needs")
	}
	for _, fd := range fds {
		syscall.Close(fd)
	}
	return pid, err
}

// runInCgroups calls f while this thread is in other control groups: the first
// half of the doors leads there, the second half back.
func runInCgroups(doors []int, f func() error) error {
	there, back := doors[:len(doors)/2], doors[len(doors)/2:]
	err := joinCgroups(there)
	if err == nil {
		err = f()
	}
	if home := joinCgroups(back); err == nil {
		err = home
	}
	return err
}

// joinCgroups moves this thread into the groups behind the doors, all that let
// it in.
func joinCgroups(doors []int) (err error) {
	for _, fd := range doors {
		if _, no := syscall.Pwrite(fd, []byte{'0'}, 0); no != nil && err == nil {
			err = wrapError("limits: control group", no)
		}
	}
	return err
}

// launchHelper starts one helper.
func (w *guardedProcesses) launchHelper(l *Launch, control int) (pid int, err error) {
	// A fork whose execve fails leaves a child of the runtime that it does not
	// know. What is known to fail is not tried.
	if err := syscall.Access(l.Path, 1); err != nil {
		return 0, err
	}
	pidfd := -1
	start := func() error {
		pid, err = syscall.ForkExec(l.Path, []string{l.Arg0}, &syscall.ProcAttr{
			Dir: "/", Env: l.Env, Files: []uintptr{0, 1, 2, uintptr(control)},
			Sys: &syscall.SysProcAttr{
				Setsid: l.Setsid, Cloneflags: l.Flags | syscall.CLONE_PARENT, UidMappings: l.UIDs, GidMappings: l.GIDs,
				AmbientCaps: l.Caps, PidFD: &pidfd,
			},
		})
		return err
	}
	if l.As == 0 {
		err = start()
	} else {
		err = asUser(l.As, start)
	}
	if err != nil {
		return 0, err
	}
	if pidfd < 0 {
		// It ends with its control socket.
		return 0, errors.New("this kernel gives no pidfd")
	}
	*w = append(*w, guardedProcess{Guard{PID: pid, Group: l.Flags&syscall.CLONE_NEWPID == 0}, pidfd})
	return pid, nil
}
