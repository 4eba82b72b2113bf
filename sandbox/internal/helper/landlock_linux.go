package helper

import (
	"syscall"
	"unsafe"
)

// rulesetAttr is struct landlock_ruleset_attr, pathAttr struct
// landlock_path_beneath_attr, which is packed: the kernel reads 12 bytes
// (include/uapi/linux/landlock.h).
type rulesetAttr struct{ fs, net, scoped uint64 }

type pathAttr struct {
	access uint64
	parent int32
}

// restrictThread puts the calling thread under the ruleset.
func (l *Landlock) restrictThread() error {
	attr := rulesetAttr{l.FS, l.Net, l.Scoped}
	// A kernel that does not know the later fields wants them left out.
	size := unsafe.Sizeof(attr)
	switch {
	case l.Scoped == 0 && l.Net == 0:
		size = 8
	case l.Scoped == 0:
		size = 16
	}
	fd, _, errno := syscall.Syscall(sysLandlockCreate, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return wrapError("landlock ruleset", errno)
	}
	defer syscall.Close(int(fd))
	for _, r := range l.Rules {
		if err := r.addRule(int(fd)); err != nil {
			return wrapError("landlock rule "+r.Path, err)
		}
	}
	_, _, errno = syscall.Syscall(sysLandlockSelf, fd, 0, 0)
	return wrapError("landlock", errnoError(errno))
}

func (r *PathRule) addRule(ruleset int) error {
	known := r.Dev != 0 || r.Ino != 0
	open := func() (int, error) { return syscall.Open(r.Path, oPath|syscall.O_CLOEXEC, 0) }
	if known {
		open = func() (int, error) { return openPath(atFDCWD, r.Path, 0) }
	}
	fd, err := open()
	if r.Optional && err == syscall.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	access := r.Access
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	if known && (st.Dev != r.Dev || st.Ino != r.Ino) {
		return errExchanged
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		access &= LandlockFile
	}
	attr := pathAttr{access, int32(fd)}
	const ruleTypePathBeneath = 1
	_, _, errno := syscall.Syscall6(sysLandlockAddRule, uintptr(ruleset), ruleTypePathBeneath,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	return errnoError(errno)
}
