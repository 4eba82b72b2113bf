//go:build !windows && !linux

package scoped

import (
	"fmt"
	"os"
)

// openedPath returns where an open file lies, links followed.
func openedPath(f *os.File, path string) (string, error) { return openedPathByName(f, path) }

// fileIdentity identifies an open file by device and inode.
func fileIdentity(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	id := idOf(info)
	return fmt.Sprintf("%x:%x", id.dev, id.ino)
}
