package helper

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"
)

// noSetuidFixup keeps the capabilities of a thread that changes its user
// (capabilities(7): SECBIT_NO_SETUID_FIXUP).
const noSetuidFixup = 1 << 2

// errUser ends a launcher that could not become itself again.
var errUser = errors.New("the launcher is another user than it was")

// asUser calls f while this thread is a user and a group of the host without
// other groups. A user namespace that f makes belongs to that user, and with it
// what the kernel counts in it: inotify, signals, processes. The thread keeps its
// capabilities, without which it could neither write the maps of ids nor return.
func asUser(id int, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	groups, err := groupsOf()
	if err != nil {
		return err
	}
	bits, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetSecurebits, 0, 0)
	if errno != 0 {
		return wrapError("securebits", errno)
	}
	uid, gid := syscall.Geteuid(), syscall.Getegid()
	err = wrapError("securebits", prctl(prSetSecurebits, bits|noSetuidFixup, 0))
	if err == nil {
		err = setIDs(id, id, nil)
	}
	if err == nil {
		err = f()
	}
	if setIDs(uid, gid, groups) != nil || prctl(prSetSecurebits, bits, 0) != nil {
		return errUser
	}
	return err
}

// groupsOf returns the groups of this thread besides its own.
func groupsOf() ([]uint32, error) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_GETGROUPS, 0, 0, 0)
	groups := make([]uint32, n)
	if errno == 0 && n > 0 {
		_, _, errno = syscall.RawSyscall(syscall.SYS_GETGROUPS, n, uintptr(unsafe.Pointer(&groups[0])), 0)
	}
	return groups, wrapError("groups", errnoError(errno))
}

// setIDs makes this thread, and no other one, another user. Those of package
// syscall change all threads.
func setIDs(uid, gid int, groups []uint32) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(unsafe.SliceData(groups))), 0)
	if errno != 0 {
		return wrapError("groups", errno)
	}
	g, u := uintptr(gid), uintptr(uid)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESGID, g, g, g); errno != 0 {
		return wrapError("group of the child", errno)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, u, u, u); errno != 0 {
		return wrapError("user of the child", errno)
	}
	return nil
}
