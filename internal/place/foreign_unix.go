//go:build !windows

package place

import (
	"io/fs"
	"os"
	"syscall"
)

// untrustedReason returns why a link outside the grounds is not the operator's:
// another user of this machine may have made it. It lies where others may write,
// and belongs neither to the system nor to the user of this process.
func untrustedReason(dir string, info fs.FileInfo) string {
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
