package sandbox

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// slay kills the first process of the namespace; the kernel kills the others
// before it can be waited for (pid_namespaces(7)). Without a namespace it
// kills the group.
func (c *child) slay() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slayLocked()
}

// slayLocked does nothing once the child was waited for: its number may be
// that of another process, and of another group, by then.
func (c *child) slayLocked() {
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
func (c *child) reap() (*os.ProcessState, error) {
	for unix.Waitid(unix.P_PID, c.proc.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slayLocked()
	c.reaped = true
	return c.proc.Wait()
}

// groupOfItsOwn makes a child the leader of a new session.
func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// handlesTerm reports whether the first process has a handler for SIGTERM.
func (c *child) handlesTerm() bool { return catches(c.proc.Pid, syscall.SIGTERM) }

// catches reports whether a process has a handler for one of the signals.
func catches(pid int, signals ...syscall.Signal) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(data, []byte("\nSigCgt:"))
	if !ok {
		return false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	return err == nil && slices.ContainsFunc(signals, func(s syscall.Signal) bool { return mask&(1<<(uint(s)-1)) != 0 })
}
