package helper

import "syscall"

// ProbeArg0 is the name under which this program attacks its own confinement.
const ProbeArg0 = "sallyport-probe"

// Probed is the first word of what the probe writes; the others are the names
// of the attacks that succeeded. A program that is not the probe says neither.
const Probed = "probed"

// Probe is the value of [Marker] for an attack on a file outside the reach, a
// port of the host's loopback and a process of the host, which is in the process
// namespace that space names as /proc/self/ns/pid does.
func Probe(canary string, port, pid int, space string) string {
	return ProbeArg0 + " " + formatDecimal(int64(port)) + " " + formatDecimal(int64(pid)) + " " + space + " " + canary
}

// runProbe runs the attack instead of the program, if that is the role.
func runProbe(role string) {
	name, rest := cutText(role, ' ')
	port, rest := cutText(rest, ' ')
	pid, rest := cutText(rest, ' ')
	space, canary := cutText(rest, ' ')
	if name != ProbeArg0 || parseNumber(port) < 0 || parseNumber(pid) < 0 || canary == "" {
		return
	}
	text := Probed
	for _, name := range runAttacks(canary, parseNumber(port), parseNumber(pid), space) {
		text += " " + name
	}
	_, _ = syscall.Write(1, []byte(text))
	syscall.Exit(0)
}

// cutText cuts a text at the first of a byte.
func cutText(s string, at byte) (first, rest string) {
	for i := range len(s) {
		if s[i] == at {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// parseNumber reads digits; -1 is for everything else.
func parseNumber(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n >= 1<<27 {
			return -1
		}
		n = 10*n + int(s[i]-'0')
	}
	if s == "" {
		return -1
	}
	return n
}

// runAttacks returns the names of what succeeded of the things that no confined
// child may do: with a file outside its reach, with a listener and a process
// of the host, with the kernel.
func runAttacks(canary string, port, pid int, space string) (open []string) {
	try := func(name string, err error) {
		if err == nil {
			open = append(open, name)
		}
	}
	fd, err := syscall.Open(canary, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	try("read", err)
	syscall.Close(fd)
	try("chmod", syscall.Chmod(canary, 0o600))
	fd, err = syscall.Open(canary+".new", syscall.O_WRONLY|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600)
	try("write", err)
	syscall.Close(fd)
	try("connect", connectPort(port))
	if !isOwnProcess(pid, space) {
		try("signal", syscall.Kill(pid, 0))
	}
	fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	try("unix-socket", err)
	syscall.Close(fd)
	_, _, errno := syscall.RawSyscall(syscall.SYS_UNSHARE, syscall.CLONE_NEWUTS, 0, 0)
	try("unshare", errnoError(errno))
	try("mount", syscall.Mount("tmpfs", "/tmp", "tmpfs", 0, ""))
	var caps [2]capData
	if err := capget(&caps); err != nil || caps[0].permitted|caps[1].permitted != 0 {
		open = append(open, "capabilities")
	}
	return open
}

func connectPort(port int) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Connect(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

// isOwnProcess reports whether the number of a process of the host means another
// one here: in a process namespace of its own, the low number that a gate has in
// a container is that of this program's init or of one of its threads. Without
// /proc, which some containers refuse, the tree is a child's own and so is its
// parent.
func isOwnProcess(pid int, space string) bool {
	var name [64]byte
	if n, err := syscall.Readlink("/proc/self/ns/pid", name[:]); err == nil {
		return space != "" && string(name[:n]) != space
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), uintptr(pid), 0)
	return errno == 0 || pid == syscall.Getppid()
}
