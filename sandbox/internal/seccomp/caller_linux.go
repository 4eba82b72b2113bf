package seccomp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// maxPath is PATH_MAX: the kernel takes no longer path, the final NUL
	// included.
	maxPath = 4096
	// maxSockaddr is the size of struct sockaddr_storage.
	maxSockaddr = 128
)

// here is the directory of paths without a directory argument.
const here = -1

// pathArg says which arguments are a path and the directory it starts from.
type pathArg struct{ dir, path int }

// callShape says what the arguments of a call are.
type callShape struct {
	paths []pathArg
	// write is true when the call changes what it names.
	write bool
	// flags is the argument with open flags, 0 without one.
	flags int
	// how is the argument with a struct open_how, 0 without one.
	how int
	// address is the argument with a socket address, 0 without one; its
	// length follows.
	address int
}

// one, at and two are the usual shapes of path arguments.
var (
	one = []pathArg{{here, 0}}
	at  = []pathArg{{0, 1}}
	two = []pathArg{{here, 0}, {here, 1}}
)

// shapes are the watched calls, which name files, programs or peers. The text of
// a symbolic link is not a path that the call looks at.
var shapes = map[string]callShape{
	"execve":        {paths: one},
	"execveat":      {paths: at},
	"open":          {paths: one, flags: 1},
	"openat":        {paths: at, flags: 2},
	"openat2":       {paths: at, how: 2},
	"creat":         {paths: one, write: true},
	"mkdir":         {paths: one, write: true},
	"mkdirat":       {paths: at, write: true},
	"mknod":         {paths: one, write: true},
	"mknodat":       {paths: at, write: true},
	"rename":        {paths: two, write: true},
	"renameat":      {paths: []pathArg{{0, 1}, {2, 3}}, write: true},
	"renameat2":     {paths: []pathArg{{0, 1}, {2, 3}}, write: true},
	"unlink":        {paths: one, write: true},
	"unlinkat":      {paths: at, write: true},
	"rmdir":         {paths: one, write: true},
	"link":          {paths: two, write: true},
	"linkat":        {paths: []pathArg{{0, 1}, {2, 3}}, write: true},
	"symlink":       {paths: []pathArg{{here, 1}}, write: true},
	"symlinkat":     {paths: []pathArg{{1, 2}}, write: true},
	"truncate":      {paths: one, write: true},
	"chdir":         {paths: one},
	"chmod":         {paths: one, write: true},
	"fchmodat":      {paths: at, write: true},
	"fchmodat2":     {paths: at, write: true},
	"chown":         {paths: one, write: true},
	"lchown":        {paths: one, write: true},
	"fchownat":      {paths: at, write: true},
	"utime":         {paths: one, write: true},
	"utimes":        {paths: one, write: true},
	"futimesat":     {paths: at, write: true},
	"utimensat":     {paths: at, write: true},
	"setxattr":      {paths: one, write: true},
	"lsetxattr":     {paths: one, write: true},
	"setxattrat":    {paths: at, write: true},
	"removexattr":   {paths: one, write: true},
	"lremovexattr":  {paths: one, write: true},
	"removexattrat": {paths: at, write: true},
	"connect":       {address: 1},
	"bind":          {address: 1},
	"sendto":        {address: 4},
}

// waitingCaller is a process that waits in a notified call.
type waitingCaller struct{ pid int }

// describeCall reads what the arguments of a call name.
func (c waitingCaller) describeCall(e *Event, args [6]uint64) {
	s := shapes[e.Call]
	mem, err := os.Open(c.procPath("mem"))
	if err != nil {
		return
	}
	defer mem.Close()
	for _, a := range s.paths {
		if p, ok := c.readPath(mem, a, args); ok {
			e.Paths = append(e.Paths, p)
		}
	}
	e.Flags = c.openFlags(mem, s, args)
	e.Write = s.write || e.Flags&(unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC) != 0
	if s.address != 0 {
		e.Peer = formatPeer(readMemory(mem, args[s.address], min(args[s.address+1], maxSockaddr)))
	}
	if (e.Call == "execve" || e.Call == "execveat") && len(e.Paths) == 1 {
		e.File = c.resolveLinks(e.Paths[0])
	}
}

// readPath reads a path argument and makes it absolute. A missing or empty path
// stands for the directory argument itself.
func (c waitingCaller) readPath(mem *os.File, a pathArg, args [6]uint64) (string, bool) {
	var p string
	if ptr := args[a.path]; ptr != 0 {
		text, _, ended := bytes.Cut(readMemory(mem, ptr, maxPath), []byte{0})
		if !ended {
			// Unreadable, or longer than the kernel accepts.
			return "", false
		}
		p = string(text)
	}
	if path.IsAbs(p) {
		return path.Clean(p), true
	}
	link := "cwd"
	if a.dir != here && int32(args[a.dir]) != unix.AT_FDCWD {
		link = "fd/" + strconv.Itoa(int(int32(args[a.dir])))
	} else if p == "" {
		return "", false
	}
	dir, err := os.Readlink(c.procPath(link))
	if err != nil {
		return "", false
	}
	if p == "" {
		return dir, true
	}
	return path.Join(dir, p), path.IsAbs(dir)
}

// openFlags reads open flags, given as an argument, which the kernel takes as
// 32 bits, or in the first word of a struct open_how.
func (c waitingCaller) openFlags(mem *os.File, s callShape, args [6]uint64) uint64 {
	switch {
	case s.flags != 0:
		return args[s.flags] & (1<<32 - 1)
	case s.how != 0:
		if b := readMemory(mem, args[s.how], 8); len(b) == 8 {
			return binary.NativeEndian.Uint64(b)
		}
	}
	return 0
}

// resolveLinks follows the links of a path inside the tree of the caller. It is
// empty when there is no such file, and the path itself when following fails
// for another reason, as for the links of /proc.
func (c waitingCaller) resolveLinks(p string) string {
	root, err := unix.Open(c.procPath("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return p
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, p, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT,
	})
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return ""
	case err != nil:
		return p
	}
	defer unix.Close(fd)
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return p
	}
	return name
}

// procPath is a path below /proc of the caller.
func (c waitingCaller) procPath(name string) string {
	return "/proc/" + strconv.Itoa(c.pid) + "/" + name
}

// readMemory reads up to n bytes; what lies behind an unmapped page is
// missing.
func readMemory(mem *os.File, ptr, n uint64) []byte {
	if ptr == 0 || ptr > 1<<63-1 {
		return nil
	}
	b := make([]byte, n)
	got, _ := mem.ReadAt(b, int64(ptr))
	return b[:got]
}

// formatPeer prints a socket address; empty when it is of another family.
func formatPeer(b []byte) string {
	if len(b) < 2 {
		return ""
	}
	family, b := binary.NativeEndian.Uint16(b), b[2:]
	switch {
	case family == unix.AF_INET && len(b) >= 6:
		ip := netip.AddrFrom4([4]byte(b[2:6]))
		return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b)).String()
	case family == unix.AF_INET6 && len(b) >= 22:
		ip := netip.AddrFrom16([16]byte(b[6:22]))
		return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b)).String()
	case family == unix.AF_UNIX && len(b) > 0 && b[0] == 0:
		return "@" + string(b[1:])
	case family == unix.AF_UNIX:
		name, _, _ := bytes.Cut(b, []byte{0})
		return string(name)
	}
	return ""
}
