//go:build unix

package fsx

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir makes new names in a directory durable, where the file system can.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(SyncOpenDir(d), d.Close())
}

// SyncOpenDir is SyncDir for a directory that is open.
func SyncOpenDir(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // some file systems have no sync of directories
	}
	return err
}
