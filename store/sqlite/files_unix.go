//go:build unix

package sqlite

import (
	"syscall"
)

// errQuota is a disk that is full for this user.
const errQuota = syscall.EDQUOT
