//go:build unix

package recordlog

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file for reading and writing; nil when the system does not.
func mapFile(f *os.File, size int64) []byte {
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return b
}

func unmapFile(b []byte) { _ = unix.Munmap(b) }
