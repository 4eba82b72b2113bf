package seccomp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif of linux/seccomp.h.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// notificationSizes is struct seccomp_notif_sizes.
type notificationSizes struct {
	notification, response, data uint16
}

// ioctlNotifyValid is SECCOMP_IOCTL_NOTIF_ID_VALID, which golang.org/x/sys
// does not have. The number is the same on both architectures.
const ioctlNotifyValid = 0x40082102

// Event is one call that a filter notified. It is a report of what was asked
// for, read from memory that other threads of the caller can change: nothing
// may be decided by it.
type Event struct {
	// PID is the calling thread in the namespace of the reader.
	PID int
	// Call is the name of the call.
	Call string
	// Paths lists the paths that the call names, in the order of its
	// arguments, absolute in the tree of the caller and cleaned as text. A
	// path that could not be read is missing.
	Paths []string
	// File is, for an execution, the path after links; empty when there is no
	// such file, as in a search along PATH.
	File string
	// Write is true for calls that change what they name, and for opening in
	// order to.
	Write bool
	// Flags is the open flags of calls that open; 0 for other calls.
	Flags uint64
	// Peer is the address of connect, bind and sendto: host:port, the path of
	// a unix socket, or @ and a name for an abstract one.
	Peer string
}

// Listener receives the notifications of one filter. Next is for one
// goroutine; Close may be called from another.
type Listener struct {
	// Before is called with each event while its caller still waits in the
	// call, so that it sees the files as they are before the call; nil does
	// nothing. It is set before the first Next.
	Before func(*Event)
	// Blind leaves out of events what is read from the caller: they have PID
	// and Call only, and cost a fraction. It may be changed between two Next.
	Blind bool

	// Count is asked before a watch is added to an epoll instance, by the
	// goroutine of Next; the watch is refused when it is false. Such calls are
	// no events. nil refuses none. It is set before the first Next.
	Count func() bool

	file   *os.File
	conn   syscall.RawConn
	epoll  uint32 // the number of epoll_ctl
	call   map[uint32]string
	arch   uint32
	closed atomic.Bool
}

// NewListener takes over the descriptor that installing the filter returned. On an error
// it is closed.
func NewListener(fd int) (*Listener, error) {
	m, ok := machines[runtime.GOARCH]
	if !ok {
		unix.Close(fd)
		return nil, fmt.Errorf("%w: %s", ErrNotSupported, runtime.GOARCH)
	}
	if err := checkSizes(); err != nil {
		unix.Close(fd)
		return nil, err
	}
	// A nonblocking descriptor waits in the poller of the runtime instead of
	// holding a thread, and Close wakes the waiter.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	f := os.NewFile(uintptr(fd), "seccomp listener")
	conn, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Listener{file: f, conn: conn, epoll: m.numberOf("epoll_ctl"), call: m.watchedCalls(), arch: m.audit}, nil
}

// checkSizes refuses a kernel whose structures have grown: it would write
// beyond ours.
func checkSizes() error {
	var s notificationSizes
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&s)))
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	want := notificationSizes{
		uint16(unsafe.Sizeof(notification{})), uint16(unsafe.Sizeof(response{})), 64,
	}
	if s != want {
		return fmt.Errorf("notifications of %v bytes instead of %v: %w", s, want, ErrNotSupported)
	}
	return nil
}

// Close ends Next. Filtered processes that are still there get ENOSYS for
// notified calls from now on, so it comes after their end, or in order to
// hinder them.
func (l *Listener) Close() error {
	l.closed.Store(true)
	return l.file.Close()
}

// Next waits for a notified call, reads what it names, lets it go on, and
// returns it. Whatever could not be read is missing from the event; the call
// goes on in every case. Until the next Next the following call waits in the
// kernel, so Next is called in a loop that does little else.
//
// The error is io.EOF when the last filtered process is gone and
// os.ErrClosed after Close.
func (l *Listener) Next() (Event, error) {
	for {
		n, err := l.receiveNotification()
		if err != nil {
			return Event{}, err
		}
		if n.arch == l.arch && uint32(n.nr) == l.epoll {
			l.countWatch(n.id)
			continue
		}
		e, ok := l.handleCall(n)
		if ok {
			return e, nil
		}
	}
}

// handleCall describes a call and lets it go on, even when describing it fails in
// an unexpected way. It is not ok when the caller is gone.
func (l *Listener) handleCall(n notification) (e Event, ok bool) {
	defer func() {
		if !l.letProceed(n.id) {
			ok = false
		}
	}()
	e = Event{PID: int(n.pid), Call: l.call[uint32(n.nr)]}
	if l.Blind || n.arch != l.arch || n.pid == 0 || e.Call == "" {
		return e, true
	}
	c := waitingCaller{pid: int(n.pid)}
	c.describeCall(&e, n.args)
	// The number may have gone to another process while it was read.
	if ok = l.isWaiting(n.id); ok && l.Before != nil {
		l.Before(&e)
	}
	return e, ok
}

// countWatch has a watch added, or refuses it as the kernel does at its own
// limit.
func (l *Listener) countWatch(id uint64) {
	r := response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if l.Count != nil && !l.Count() {
		r = response{id: id, err: -int32(unix.ENOSPC)}
	}
	// It fails when the caller is gone.
	_ = l.ioctlFD(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

// receiveNotification waits for a notification.
func (l *Listener) receiveNotification() (notification, error) {
	var n notification
	var failure error
	err := l.conn.Read(func(fd uintptr) bool {
		var done bool
		n, done, failure = receiveNow(int(fd))
		return done
	})
	switch {
	case err == nil:
		return n, failure
	case l.closed.Load():
		// The poller has an error of its own for this.
		return n, os.ErrClosed
	default:
		return n, err
	}
}

// receiveNow takes a notification if there is one. The ioctl would wait
// whatever the flags of the descriptor are, so the state is asked for first;
// a caller that dies in between is ENOENT.
func receiveNow(fd int) (n notification, done bool, err error) {
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		count, err := unix.Poll(fds, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return n, true, os.NewSyscallError("poll", err)
		case count == 0:
			return n, false, nil
		case fds[0].Revents&unix.POLLIN == 0:
			return n, true, io.EOF
		}
		// The kernel wants the structure zeroed.
		n = notification{}
		switch errno := ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno {
		case 0:
			return n, true, nil
		case unix.EINTR, unix.ENOENT:
		default:
			return n, true, os.NewSyscallError("ioctl", errno)
		}
	}
}

// letProceed lets a call go on. It is false when the caller is gone.
func (l *Listener) letProceed(id uint64) bool {
	r := response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	return l.ioctlFD(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) == 0
}

// isWaiting reports whether the caller still waits in the call.
func (l *Listener) isWaiting(id uint64) bool {
	return l.ioctlFD(ioctlNotifyValid, unsafe.Pointer(&id)) == 0
}

// ioctlFD makes an ioctl on the descriptor while it cannot be closed.
func (l *Listener) ioctlFD(request uintptr, p unsafe.Pointer) unix.Errno {
	errno := unix.EBADF
	_ = l.conn.Control(func(fd uintptr) {
		for errno = ioctl(int(fd), request, p); errno == unix.EINTR; {
			errno = ioctl(int(fd), request, p)
		}
	})
	return errno
}

// ioctl is the system call.
func ioctl(fd int, request uintptr, p unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(p))
	return errno
}
