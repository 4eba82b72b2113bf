package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// stampSeconds is the time of the last change of a placeholder's contents, by
// which it is known again: no program of today leaves that of 2001.
const stampSeconds = 1_000_000_007

// commonSelf is what a placeholder commondir holds: the directory itself, by a
// spelling that nobody writes by hand.
const commonSelf = "./././.\n"

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
