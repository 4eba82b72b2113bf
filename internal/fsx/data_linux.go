package fsx

import (
	"errors"
	"os"
	"syscall"
)

// SyncData brings the content of a file to the disk, without the time of its
// last change, which is not needed.
func SyncData(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for failed = syscall.EINTR; failed == syscall.EINTR; {
			failed = syscall.Fdatasync(int(fd))
		}
	})
	return errors.Join(err, failed)
}
