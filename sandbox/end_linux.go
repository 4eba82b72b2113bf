package sandbox

import (
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// killTree kills the first process of the namespace; the kernel kills the others
// before it can be waited for (pid_namespaces(7)). Without a namespace it
// kills the group.
func (c *childProcess) killTree() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return
	}
	var space string
	if c.group == nil && c.r.platform.namespaces {
		space, _ = os.Readlink(procPath(c.proc.Pid, "ns/pid"))
	}
	c.killTreeLocked()
	// Beside hundreds of processes that want to run, the first one may wait long
	// before it can end the others. What they start until then ends with it.
	if c.group == nil {
		killSpace(space)
	} else if err := c.group.End(); err != nil {
		c.r.logger.Warn("sandbox: a control group could not be ended at once", "error", err)
	}
}

// killSpace kills the processes of a process namespace that are there now.
func killSpace(space string) {
	if space == "" {
		return
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		if name := e.Name(); name[0] >= '1' && name[0] <= '9' {
			killIn(space, "/proc/"+name)
		}
	}
}

// killIn kills a process, given its folder in /proc, if it is in a process
// namespace. The folder never is that of another process.
func killIn(space, dir string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var own [64]byte
	if n, err := unix.Readlinkat(fd, "ns/pid", own[:]); err == nil && string(own[:n]) == space {
		_ = unix.PidfdSendSignal(fd, syscall.SIGKILL, nil, 0)
	}
}

// killTreeLocked does nothing once the child was waited for: its number may be
// that of another process, and of another group, by then.
func (c *childProcess) killTreeLocked() {
	if c.reaped {
		return
	}
	if !c.r.platform.namespaces {
		_ = syscall.Kill(-c.proc.Pid, syscall.SIGKILL)
	}
	_ = c.proc.Kill()
}

// reap waits for the end of the first process, kills what it has left behind,
// which in a namespace is nothing, and only then gives its number back.
func (c *childProcess) reap() (*os.ProcessState, error) {
	for unix.Waitid(unix.P_PID, c.proc.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killTreeLocked()
	c.reaped = true
	return c.proc.Wait()
}

// groupOfItsOwn makes a child the leader of a new session.
func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// sendSIGTERM sends SIGTERM to the program if it has a handler for it, and
// reports whether it has.
func (c *childProcess) sendSIGTERM() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.reaped:
		return false
	case c.program == nil:
		return handlesSignal(c.proc.Pid, syscall.SIGTERM) && c.proc.Signal(syscall.SIGTERM) == nil
	default:
		return handlesSignal(numberOf(c.program), syscall.SIGTERM) && sendSignal(c.program, syscall.SIGTERM) == nil
	}
}

// receiveProgram takes over the pidfd of the program below an init.
func (c *childProcess) receiveProgram(fd int) {
	c.program = os.NewFile(uintptr(fd), "program")
	c.atEnd(func() { c.program.Close() })
}

// numberOf is the number of the process behind a pidfd (pidfd_open(2)), 0 when it
// is gone.
func numberOf(pidfd *os.File) int {
	data, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(pidfd.Fd())))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(procField(data, "Pid"))
	return max(pid, 0)
}

// sendSignal signals the process behind a pidfd, which never is another one.
func sendSignal(pidfd *os.File, s syscall.Signal) error {
	return unix.PidfdSendSignal(int(pidfd.Fd()), s, nil, 0)
}

// handlesSignal reports whether a process has a handler for one of the signals.
func handlesSignal(pid int, signals ...syscall.Signal) bool {
	data, err := os.ReadFile(procPath(pid, "status"))
	if err != nil {
		return false
	}
	mask, err := strconv.ParseUint(procField(data, "SigCgt"), 16, 64)
	return err == nil && slices.ContainsFunc(signals, func(s syscall.Signal) bool { return mask&(1<<(uint(s)-1)) != 0 })
}
