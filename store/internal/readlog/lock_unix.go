//go:build unix

package readlog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file until it is closed, and reports false when another opening
// of it has it locked.
func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, err
		}
	}
}

// removeLocked removes a file that is locked, before its lock ends: who makes a file
// and then gets the lock of it must find the name gone.
func removeLocked(f *os.File, path string) error { return errors.Join(os.Remove(path), f.Close()) }
