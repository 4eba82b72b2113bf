//go:build unix

package audit

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openKey opens without waiting: a FIFO in place of the key is refused, not
// waited for.
func openKey(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// checkPrivate refuses a file that the group or the world may use.
func checkPrivate(info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("may be used by others (mode %04o): chmod 600 it, and replace it if it may have been read", mode)
	}
	return nil
}
