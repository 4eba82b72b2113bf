package helper

import (
	"syscall"
	"unsafe"
)

// The system calls that package syscall does not offer. Package unix does, but
// importing it would have half of the program initialised before the helper
// begins: see imports_test.go.

// Numbers that all architectures share (since Linux 5.0).
const (
	sysPidfdSendSignal = 424
	sysOpenTree        = 428
	sysMoveMount       = 429
	sysCloseRange      = 436
	sysOpenat2         = 437
	sysMountSetattr    = 442
	sysLandlockCreate  = 444
	sysLandlockAddRule = 445
	sysLandlockSelf    = 446
)

// Flags, by the headers below include/uapi/linux.
const (
	atFDCWD     = -100   // fcntl.h
	atEmptyPath = 0x1000 // fcntl.h
	atRecursive = 0x8000 // fcntl.h
	oPath       = 0x200000

	resolveNoMagiclinks = 0x02 // openat2.h
	resolveNoSymlinks   = 0x04

	openTreeClone      = 1 // mount.h
	openTreeCloexec    = syscall.O_CLOEXEC
	moveMountFromEmpty = 0x04
	moveMountToEmpty   = 0x40
	attrReadOnly       = 0x1
	attrNoSuid         = 0x2
	attrNoDev          = 0x4
	attrNoExec         = 0x8

	closeRangeCloexec = 1 << 2 // close_range.h

	prSetPdeathsig       = 1 // prctl.h
	prSetDumpable        = 4
	prCapbsetDrop        = 24
	prGetSecurebits      = 27
	prSetSecurebits      = 28
	prSetTimerslack      = 29
	prSetNoNewPrivs      = 38
	prCapAmbient         = 47
	prCapAmbientClearAll = 4

	capabilityVersion3 = 0x20080522 // capability.h
)

// openHow is struct open_how, mountAttr struct mount_attr.
type (
	openHow   struct{ flags, mode, resolve uint64 }
	mountAttr struct{ set, clr, propagation, userns uint64 }
)

// capHeader is struct __user_cap_header_struct, capData one of the two
// __user_cap_data_struct that belong to it.
type (
	capHeader struct {
		version uint32
		pid     int32
	}
	capData struct{ _, permitted, _ uint32 }
)

// errnoError turns the outcome of a call into an error.
func errnoError(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// openPath opens a path below dir as a place, without following any link on
// the way or at the end.
func openPath(dir int, path string, flags uint64) (int, error) {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	how := openHow{flags: oPath | syscall.O_CLOEXEC | flags, resolve: resolveNoSymlinks | resolveNoMagiclinks}
	for {
		fd, _, errno := syscall.Syscall6(sysOpenat2, uintptr(dir), uintptr(unsafe.Pointer(p)),
			uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		switch errno {
		case 0:
			return int(fd), nil
		case syscall.EINTR, syscall.EAGAIN:
			// EAGAIN is a rename elsewhere while the path was walked
			// (openat2(2)).
		default:
			return -1, errno
		}
	}
}

// cloneTree copies the mount at what is open, with those below it when flags
// say so, and changes the attributes of the copy.
func cloneTree(fd int, flags uintptr, attr mountAttr) (int, error) {
	var empty byte
	tree, _, errno := syscall.Syscall(sysOpenTree, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
		atEmptyPath|openTreeClone|openTreeCloexec|flags)
	if errno != 0 {
		return -1, errno
	}
	if err := setMount(int(tree), flags, attr); err != nil {
		syscall.Close(int(tree))
		return -1, err
	}
	return int(tree), nil
}

// setMount changes the attributes of a mount, and of those below it when flags
// say so.
func setMount(fd int, flags uintptr, attr mountAttr) error {
	var empty byte
	_, _, errno := syscall.Syscall6(sysMountSetattr, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
		atEmptyPath|flags, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	return errnoError(errno)
}

// moveMount attaches a detached mount to what is open.
func moveMount(tree, target int) error {
	var empty byte
	_, _, errno := syscall.Syscall6(sysMoveMount, uintptr(tree), uintptr(unsafe.Pointer(&empty)),
		uintptr(target), uintptr(unsafe.Pointer(&empty)), moveMountFromEmpty|moveMountToEmpty, 0)
	return errnoError(errno)
}

func symlinkat(text string, dir int, name string) error {
	t, err := syscall.BytePtrFromString(text)
	if err != nil {
		return err
	}
	n, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall(syscall.SYS_SYMLINKAT, uintptr(unsafe.Pointer(t)), uintptr(dir), uintptr(unsafe.Pointer(n)))
	return errnoError(errno)
}

// closeOnExec marks every descriptor from the first one on.
func closeOnExec(first uintptr) error {
	_, _, errno := syscall.Syscall(sysCloseRange, first, uintptr(^uint32(0)), closeRangeCloexec)
	return errnoError(errno)
}

// pidfdSignal sends a signal to a process; 0 asks whether there is one.
func pidfdSignal(pidfd int, signal syscall.Signal) error {
	_, _, errno := syscall.RawSyscall6(sysPidfdSendSignal, uintptr(pidfd), uintptr(signal), 0, 0, 0, 0)
	return errnoError(errno)
}

func prctl(option int, arg2, arg3 uintptr) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, uintptr(option), arg2, arg3, 0, 0, 0)
	return errnoError(errno)
}

// prlimit sets a limit of this process. The syscall package would remember
// and restore a limit of open files of its own; this call does not.
func prlimit(resource int, limit *syscall.Rlimit) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, uintptr(resource), uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	return errnoError(errno)
}

func capget(data *[2]capData) error {
	h := capHeader{version: capabilityVersion3}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&h)), uintptr(unsafe.Pointer(data)), 0)
	return errnoError(errno)
}

func capset(data *[2]capData) error {
	h := capHeader{version: capabilityVersion3}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&h)), uintptr(unsafe.Pointer(data)), 0)
	return errnoError(errno)
}
