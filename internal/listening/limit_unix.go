//go:build unix

package listening

import "syscall"

// descriptorLimit returns how many descriptors this process may open, 0 if
// unknown.
func descriptorLimit() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return uint64(l.Cur)
}
