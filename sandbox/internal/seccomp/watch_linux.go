package seccomp

import "runtime"

// watchedNames are the calls that name files, programs or peers.
var watchedNames = []string{
	"execve", "execveat", "open", "openat", "openat2", "creat", "mkdir", "mkdirat", "mknod", "mknodat",
	"rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "link", "linkat", "symlink",
	"symlinkat", "truncate", "chdir", "chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat",
	"utime", "utimes", "futimesat", "utimensat", "setxattr", "lsetxattr", "setxattrat", "removexattr",
	"lremovexattr", "removexattrat", "connect", "bind", "sendto",
}

// Watched returns the calls that [Options.Watch] notifies, by number; it is
// empty on an architecture without a table.
func Watched() map[uint32]string {
	m, ok := machines[runtime.GOARCH]
	if !ok {
		return nil
	}
	return m.watchedCalls()
}

// watchedCalls is Watched for one machine.
func (m machine) watchedCalls() map[uint32]string {
	watched := make(map[string]bool, len(watchedNames))
	for _, name := range watchedNames {
		watched[name] = true
	}
	byNumber := make(map[uint32]string)
	for _, n := range numbers {
		if nr := m.number(n); nr != absent && watched[n.name] {
			byNumber[uint32(nr)] = n.name
		}
	}
	return byNumber
}

// numberOf returns the number of a call; no call has that of one that the machine
// does not know.
func (m machine) numberOf(name string) uint32 {
	for _, n := range numbers {
		if nr := m.number(n); n.name == name && nr != absent {
			return uint32(nr)
		}
	}
	return ^uint32(0)
}
