package readlog

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks a file until it is closed, and reports false when another opening
// of it has it locked. What is locked is a byte behind all that files have: others
// cannot read what is.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// removeLocked removes a file that is locked. It has to be closed first; nothing
// removes it while another process has it open.
func removeLocked(f *os.File, path string) error {
	err := f.Close()
	if e := os.Remove(path); e != nil && !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}
