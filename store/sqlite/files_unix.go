//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// errQuota is a disk that is full for this user.
const errQuota = syscall.EDQUOT

// syncDir makes new names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) {
		// Some file systems have no sync of directories.
		err = nil
	}
	return errors.Join(err, d.Close())
}
