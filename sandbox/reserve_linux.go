package sandbox

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// stampSeconds is the time of the last change of a placeholder's contents, by
// which it is known again: no program of today leaves that of 2001.
const stampSeconds = 1_000_000_007

// commonSelf is what a placeholder commondir holds: the directory itself, by a
// spelling that nobody writes by hand.
const commonSelf = "./././.\n"

// How long a placeholder is tried for that another gate is taking away.
const (
	lockTries = 200
	lockPause = 5 * time.Millisecond
)

// lockPlaceholder shares the lock of a placeholder. The lock lies on the file
// itself, which is what all gates have in common that work in a repository. It is
// one that needs a descriptor for writing to be taken alone (fcntl(2), "Open file
// description locks"): a child sees the file read-only, and can share it at most.
// Where there are no locks it returns nil, and the placeholder stays; the error is
// that the file is another one, or about to go.
func lockPlaceholder(at *os.File, base string, st *unix.Stat_t) (*os.File, error) {
	const flags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(int(at.Fd()), base, unix.O_RDWR|flags, 0)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EROFS) {
		fd, err = unix.Openat(int(at.Fd()), base, unix.O_RDONLY|flags, 0)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	f := os.NewFile(uintptr(fd), base)
	err = lockFile(f, unix.F_RDLCK)
	var named unix.Stat_t
	if err == nil && (unix.Fstatat(int(at.Fd()), base, &named, unix.AT_SYMLINK_NOFOLLOW) != nil || named.Ino != st.Ino) {
		err = unix.EAGAIN
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EAGAIN) {
		return nil, err
	}
	return nil, nil
}

// lockFile locks a whole file or unlocks it, without waiting.
func lockFile(f *os.File, kind int16) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind})
}

// putPlaceholder makes a placeholder; it has its contents before its name.
func putPlaceholder(at *os.File, base string) error {
	stamp := []unix.Timespec{{Sec: stampSeconds}, {Sec: stampSeconds}}
	if base == "hooks" || base == "modules" {
		if err := unix.Mkdirat(int(at.Fd()), base, 0o755); err != nil {
			return err
		}
		return unix.UtimesNanoAt(int(at.Fd()), base, stamp, unix.AT_SYMLINK_NOFOLLOW)
	}
	fd, err := unix.Openat(int(at.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), base)
	defer f.Close()
	if base == "commondir" {
		if _, err := f.WriteString(commonSelf); err != nil {
			return err
		}
	}
	self := fmt.Sprintf("/proc/self/fd/%d", fd)
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, self, stamp, 0); err != nil {
		return err
	}
	return unix.Linkat(unix.AT_FDCWD, self, int(at.Fd()), base, unix.AT_SYMLINK_FOLLOW)
}

// isPlaceholder knows one again, whichever process made it.
func isPlaceholder(st *unix.Stat_t) bool {
	kind := st.Mode & unix.S_IFMT
	return st.Mtim.Sec == stampSeconds && (kind == unix.S_IFDIR || kind == unix.S_IFREG && (st.Size == 0 || st.Size == int64(len(commonSelf))))
}
