//go:build !windows

package place

import (
	"io/fs"
	"os"
	"syscall"
)

// foreignReason returns why a link may have been made by another user of this
// machine: it lies where others may write, and belongs neither to the system
// nor to the user of this process.
func foreignReason(dir string, info fs.FileInfo) string {
	const others = 0o022
	folder, err := os.Lstat(dir)
	if err != nil || folder.Mode().Perm()&others == 0 {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 || int(st.Uid) == os.Geteuid() {
		return ""
	}
	return "others may write in " + dir
}
