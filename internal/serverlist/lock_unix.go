//go:build unix

package serverlist

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasLocks says that processes that run can be listed.
const hasLocks = true

// isHeld reports whether a process holds the lock of a file. Two that ask at once
// do not take each other for one.
func isHeld(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil }

// isPrivate reports whether a folder is a real one of this user that no other
// user can write.
func isPrivate(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// mayCreate returns why a folder that is not there cannot be created.
func mayCreate(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		err := unix.Access(dir, unix.W_OK)
		if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s cannot be created: %w", path, err)
		}
		return nil
	}
}
