package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// helperLauncher is the small process that forks the helpers, and kills them
// and what they have become when this process is gone. See [helper.Launch]. It
// is started with the first helper, and again when it is gone itself.
//
// The first helper, which finds out what the machine permits, is forked by this
// process, which waits for it when it fails after the fork; one without a user
// namespace costs no more here than there. Of these the launcher is told.
type helperLauncher struct {
	r      *Runner
	proven atomic.Bool // a helper has started

	mu   sync.Mutex
	proc *os.Process
	conn *net.UnixConn
}

// startHelper starts a helper, whose control socket is given, in control
// groups, as a user of the host; 0 is that of this process.
func (l *helperLauncher) startHelper(sys *syscall.SysProcAttr, as int, control *os.File, doors []*os.File, env []string) (*os.Process, error) {
	request := helper.PackRequest(helper.MsgLaunch, &helper.Launch{
		Path: l.r.platform.self, Arg0: helper.Arg0, Env: env,
		Flags: sys.Cloneflags, UIDs: sys.UidMappings, GIDs: sys.GidMappings, As: as, Caps: sys.AmbientCaps, Setsid: sys.Setsid,
	})
	if len(request) > helper.MaxLaunchBytes {
		return nil, errors.New("the path of the helper is too long")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fds := []int{int(control.Fd())}
	for _, f := range doors {
		fds = append(fds, int(f.Fd()))
	}
	pid, err := l.sendRequest(request, fds...)
	if err != nil {
		return nil, err
	}
	return os.FindProcess(pid)
}

// guardHelper tells the launcher of a helper that was started here. Without a
// process namespace its group is what ends.
func (l *helperLauncher) guardHelper(p *os.Process, group bool) error {
	pidfd, err := unix.PidfdOpen(p.Pid, 0)
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(pidfd)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.sendRequest(helper.PackRequest(helper.MsgGuard, &helper.Guard{PID: p.Pid, Group: group}), pidfd)
	return err
}

// open executes this program as the launcher.
func (l *helperLauncher) open() error {
	conn, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	null := l.r.platform.null
	attr := &os.ProcAttr{
		Dir: "/", Files: []*os.File{null, null, null, theirs}, Env: l.r.launcherEnv(),
		Sys: &syscall.SysProcAttr{Setsid: true},
	}
	// The helpers that it forks are children of this thread, which must not end
	// before them.
	l.r.platform.spawner.run(func() {
		l.proc, err = os.StartProcess("/proc/self/exe", []string{helper.LauncherArg0}, attr)
	})
	if err != nil {
		conn.Close()
		return err
	}
	l.conn = conn
	return nil
}

// sendRequest has the launcher start or guard one helper. The caller holds the
// lock.
func (l *helperLauncher) sendRequest(request []byte, fds ...int) (pid int, err error) {
	if l.conn == nil {
		if err := l.open(); err != nil {
			return 0, fmt.Errorf("launcher: %w", err)
		}
	}
	pid, fault, err := l.roundTrip(request, fds)
	if err != nil {
		// Half an exchange is no ground for the next one. Killed first, it
		// does not kill the children that run: they keep the parent death
		// signal, if they want to.
		_ = l.proc.Kill()
		l.endProcess()
		return 0, fmt.Errorf("launcher: %w", err)
	}
	if fault != "" {
		return 0, errors.New(fault)
	}
	return pid, nil
}

// roundTrip sends a request and waits for the answer. fault is why the launcher
// did not do it.
func (l *helperLauncher) roundTrip(request []byte, fds []int) (pid int, fault string, err error) {
	if err := l.conn.SetDeadline(time.Now().Add(helperWait)); err != nil {
		return 0, "", err
	}
	if _, _, err := l.conn.WriteMsgUnix(request, unix.UnixRights(fds...), nil); err != nil {
		return 0, "", err
	}
	kind, text, got, err := (&readyHelper{control: l.conn}).receiveMessage()
	if got >= 0 {
		defer unix.Close(got)
	}
	switch {
	case err != nil:
		return 0, "", err
	case kind == helper.MsgLaunched && len(text) == 8:
		return int(binary.LittleEndian.Uint64([]byte(text))), "", nil
	case kind == helper.MsgFailed && text != "":
		return 0, text, nil
	default:
		return 0, "", fmt.Errorf("it answered %q", string(kind))
	}
}

// endProcess ends the launcher, which ends by itself when it sees that the
// socket is closed and has killed what there is left.
func (l *helperLauncher) endProcess() {
	if l.conn == nil {
		return
	}
	// The deadline of the last request may have passed. Without this message the
	// launcher takes the process for gone, and removes the groups of all its runners.
	// Of a launcher that is gone already nothing is expected.
	_ = l.conn.SetDeadline(time.Now().Add(helperWait))
	_, _ = l.conn.Write([]byte{helper.MsgQuit})
	l.conn.Close()
	timer := time.AfterFunc(helperWait, func() { _ = l.proc.Kill() })
	_, _ = l.proc.Wait()
	timer.Stop()
	l.conn, l.proc = nil, nil
}

func (l *helperLauncher) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endProcess()
}

// launcherEnv is the environment of the launcher, which removes the control groups
// when this process is gone.
func (r *Runner) launcherEnv() []string {
	env := helperEnv(helper.LauncherArg0)
	if g := r.platform.groups; g != nil && g.Kind() != "" {
		prefix, dirs := g.Places()
		env = append(env, helper.GroupsMarker+"="+strings.Join(append([]string{prefix}, dirs...), "\n"))
	}
	return env
}

// socketPair makes a connection of packets: this process's end, and one to be
// handed over.
func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	file := os.NewFile(uintptr(fds[0]), "control")
	theirs = os.NewFile(uintptr(fds[1]), "control")
	conn, err := net.FileConn(file)
	file.Close()
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}
