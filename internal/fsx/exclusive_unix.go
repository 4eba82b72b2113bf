//go:build unix

package fsx

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Exclusive does something while no other process does anything under the same
// folder, which has to be there and out of the reach of processes that might hold it
// for ever: between looking at a file and writing it, say. It waits for its
// turn. Elsewhere than on Unix it does not wait.
func Exclusive(folder string, do func() error) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close() // which lets the next one in
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		return do()
	}
}

// OpenLock opens a file that is a lock, without following a link or waiting for a
// writer.
func OpenLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// TakeLock locks a file until it is closed. It fails when another process holds it.
// Elsewhere than on Unix it locks nothing.
func TakeLock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
