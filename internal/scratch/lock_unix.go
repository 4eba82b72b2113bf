//go:build unix

package scratch

import (
	"os"

	"golang.org/x/sys/unix"
)

// hold locks a file until it is closed; it fails when another process holds it.
func hold(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
