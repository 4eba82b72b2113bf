package sandbox

import (
	"sync"

	"golang.org/x/sys/unix"
)

// mountTable notices when something is mounted or unmounted on the host: a
// helper that was made before still has the tree of then, with what a new
// mount hides. The zero value notices nothing.
type mountTable struct {
	mu sync.Mutex
	// fd is no os.File: Go's poller would take the reports. -1 after close, 0
	// before open.
	fd    int
	count uint64
}

// open begins to watch. Without /proc every helper is as good as any other.
func (m *mountTable) open() {
	if fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		m.fd = fd
	}
}

// countChanges counts the changes that were noticed. The kernel reports each
// change once, as an exceptional condition on the table (proc(5),
// /proc/pid/mounts).
func (m *mountTable) countChanges() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fd <= 0 {
		return m.count
	}
	poll := []unix.PollFd{{Fd: int32(m.fd), Events: unix.POLLPRI}}
	if n, err := unix.Poll(poll, 0); err != nil || n > 0 {
		m.count++
	}
	return m.count
}

func (m *mountTable) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fd > 0 {
		unix.Close(m.fd)
		m.fd = -1
	}
}
