// Package install puts an assembled filter on a thread. It is apart from
// package seccomp, and imports next to nothing, because the helper of package
// sandbox needs it before the rest of the program is initialised.
package install

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"
)

const (
	// instructionSize is the size of struct sock_filter, maxInstructions is
	// BPF_MAXINSNS (include/uapi/linux/filter.h, bpf_common.h).
	instructionSize = 8
	maxInstructions = 4096
	// include/uapi/linux/prctl.h and seccomp.h.
	setNoNewPrivs    = 38
	setModeFilter    = 1
	newListener      = 1 << 3
	waitKillableRecv = 1 << 5
)

// sockFprog is struct sock_fprog.
type sockFprog struct {
	length uint16
	filter *byte
}

// Install puts a filter on the calling thread, which must be locked to its
// goroutine, and sets no_new_privs there. The filter is instructions with the
// layout of struct sock_filter. With listener it returns the descriptor of the
// notifications, which is closed on exec; without it the descriptor is -1.
//
// The other threads of the process stay as they are: the caller executes the
// target from this thread.
func Install(filter []byte, listener bool) (fd int, err error) {
	n := len(filter) / instructionSize
	if n == 0 || n > maxInstructions || len(filter)%instructionSize != 0 {
		return -1, errors.New("the filter is no whole number of instructions, none or too many")
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return -1, errno
	}
	p := sockFprog{uint16(n), &filter[0]}
	if !listener {
		_, err := p.setFilter(0)
		return -1, err
	}
	// WAIT_KILLABLE_RECV (Linux 5.19) keeps signals from interrupting a call
	// that the runtime has received: Go sends itself signals all the time.
	fd, err = p.setFilter(newListener | waitKillableRecv)
	if err == syscall.EINVAL {
		return p.setFilter(newListener)
	}
	return fd, err
}

// setFilter calls seccomp(2) for the calling thread.
func (p *sockFprog) setFilter(flags uintptr) (int, error) {
	r, _, errno := syscall.RawSyscall(seccompNumber(), setModeFilter, flags, uintptr(unsafe.Pointer(p)))
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// seccompNumber is that of seccomp(2), which package syscall does not know
// everywhere. Elsewhere there is no filter either; the kernel answers ENOSYS.
func seccompNumber() uintptr {
	switch runtime.GOARCH {
	case "amd64":
		return 317
	case "arm64":
		return 277
	default:
		return ^uintptr(0)
	}
}
