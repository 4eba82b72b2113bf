//go:build !unix

package sqlite

import "syscall"

// errQuota is a disk that is full: ERROR_DISK_FULL of Windows (winerror.h).
const errQuota = syscall.Errno(112)
