//go:build unix

package fsx

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// NoWait keeps open from waiting for the writer of a FIFO and from making
// a terminal the controlling one.
const NoWait = syscall.O_NONBLOCK | syscall.O_NOCTTY

// openToOthers is writing by the group, and reading or writing by others.
// Reading by the group is how containers give a mounted secret to a user.
const openToOthers = 0o026

// CheckPrivate refuses a file that another user could read or could have
// written.
func CheckPrivate(name string, st fs.FileInfo) error {
	if mode := st.Mode().Perm(); mode&openToOthers != 0 {
		return fmt.Errorf("%s is open to other users (mode %#o); run: chmod 600 %s", name, mode, name)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the owner is unknown", name)
	}
	if sys.Uid != 0 && int64(sys.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("%s is owned by user %d, neither by this process's user nor by root", name, sys.Uid)
	}
	return nil
}
