//go:build unix

package scratch

import (
	"os"
	"syscall"
)

// isOwnFolder reports whether a folder is a real one of this user.
func isOwnFolder(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
