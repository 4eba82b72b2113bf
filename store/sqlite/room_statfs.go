//go:build linux || darwin

package sqlite

import (
	"path/filepath"
	"syscall"
)

// diskFull reports whether the disk of a file has no room to speak of.
func diskFull(path string) bool {
	const least = 1 << 20
	var fs syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &fs); err != nil {
		return false
	}
	return fs.Bavail < least/uint64(max(fs.Bsize, 1))
}
