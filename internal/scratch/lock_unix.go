//go:build unix

package scratch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockFile locks a file until it is closed; it fails when another process holds
// it.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// openLock opens a lock without following a link.
func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// isOwnFolder reports whether a folder is a real one of this user.
func isOwnFolder(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
