//go:build !unix

package sqlite

import "syscall"

// errQuota is a disk that is full: ERROR_DISK_FULL of Windows (winerror.h).
const errQuota = syscall.Errno(112)

// syncDir has nothing to do: these systems do not sync directories.
func syncDir(string) error { return nil }
