package helper

import (
	"syscall"
	"unsafe"

	"github.com/sallyport/sallyport/sandbox/internal/seccomp/install"
)

// lastCap is the highest capability that a kernel may know: the sets have 64
// bits (include/uapi/linux/capability.h).
const lastCap = 63

// securebits fixes that no uid means a capability, for ever
// (capabilities(7): SECBIT_NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE,
// each with its lock).
const securebits = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<6 | 1<<7

// dropCapabilities empties the bounding, ambient, inheritable, permitted and
// effective sets. Who has no capability cannot empty the bounding set, and
// with no_new_privs need not: nothing adds to the others any more.
func dropCapabilities() error {
	var have, none [2]capData
	if err := capget(&have); err != nil {
		return wrapError("capabilities", err)
	}
	if have[0].permitted|have[1].permitted == 0 {
		return nil
	}
	for c := uintptr(0); c <= lastCap; c++ {
		if err := prctl(prCapbsetDrop, c, 0); err == syscall.EINVAL {
			break // the kernel knows no capability of this number
		} else if err != nil {
			return wrapError("capability bounding set", err)
		}
	}
	if err := prctl(prSetSecurebits, securebits, 0); err != nil {
		return wrapError("securebits", err)
	}
	if err := prctl(prCapAmbient, prCapAmbientClearAll, 0); err != nil {
		return wrapError("ambient capabilities", err)
	}
	return wrapError("capabilities", capset(&none))
}

func setRlimits(list []Rlimit) error {
	for _, l := range list {
		if l.Resource == syscall.RLIMIT_NOFILE {
			// Without this call the fork of package syscall would set another.
			value := syscall.Rlimit{Cur: l.Value, Max: l.Value}
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &value); err != nil {
				return wrapError("resource limit of open files", err)
			}
			continue
		}
		if err := prlimit(l.Resource, &syscall.Rlimit{Cur: l.Value, Max: l.Value}); err != nil {
			return wrapError("resource limit "+formatDecimal(int64(l.Resource)), err)
		}
	}
	return nil
}

// lowerPriority lowers the priority of this thread and of what it starts. The
// call answers 20 less how nice a thread is (getpriority(2)).
func lowerPriority(more int) error {
	if more <= 0 {
		return nil
	}
	is, _, errno := syscall.RawSyscall(syscall.SYS_GETPRIORITY, prioProcess, 0, 0)
	if errno != 0 {
		return wrapError("priority", errno)
	}
	nice := min(20-int(is)+more, 19)
	_, _, errno = syscall.RawSyscall(syscall.SYS_SETPRIORITY, prioProcess, 0, uintptr(nice))
	return wrapError("priority", errnoError(errno))
}

// prioProcess is PRIO_PROCESS (linux/resource.h).
const prioProcess = 0

// installFilter installs the seccomp program and hands its listener to the
// runtime.
func installFilter(spec *Spec) error {
	fd, err := install.Install(spec.Filter, spec.Notify)
	if err != nil {
		return wrapError("seccomp", err)
	}
	if spec.Notify {
		return sendMessage(MsgNotify, fd)
	}
	return nil
}

func execArgs(spec *Spec) (path *byte, argv, env []*byte, err error) {
	if path, err = syscall.BytePtrFromString(spec.Path); err != nil {
		return nil, nil, nil, wrapError("program", err)
	}
	if argv, err = syscall.SlicePtrFromStrings(spec.Argv); err != nil {
		return nil, nil, nil, wrapError("arguments", err)
	}
	if env, err = syscall.SlicePtrFromStrings(spec.Env); err != nil {
		return nil, nil, nil, wrapError("environment", err)
	}
	return path, argv, env, nil
}

// execve returns only when it failed. It is the raw call: that of package
// syscall restores a resource limit first.
func execve(path *byte, argv, env []*byte) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(path)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	return errno
}
