package cgroup

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mountedHierarchy is one mounted hierarchy.
type mountedHierarchy struct {
	root, point string
	v2          bool
	controllers []string
}

// readMounts reads the hierarchies of control groups from a mountinfo file;
// see proc_pid_mountinfo(5).
func readMounts(file string) ([]mountedHierarchy, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []mountedHierarchy
	for line := range strings.Lines(string(data)) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 6 || len(right) < 3 {
			continue
		}
		m := mountedHierarchy{root: unescapeOctal(left[3]), point: unescapeOctal(left[4])}
		switch right[0] {
		case "cgroup2":
			m.v2 = true
		case "cgroup":
			m.controllers = strings.Split(right[2], ",")
		default:
			continue
		}
		out = append(out, m)
	}
	return out, nil
}

// unescapeOctal undoes the octal escapes of mountinfo.
func unescapeOctal(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// groupDir returns the directory of a group in the mount. A group outside what is
// mounted, as in a container without a namespace of its own, has none.
func (m mountedHierarchy) groupDir(group string) (string, bool) {
	if group == "" || slices.Contains(strings.Split(group, "/"), "..") {
		return "", false
	}
	rest, ok := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return filepath.Join(m.point, rest), true
}

// readOwn reads the groups of this process by controller, that of version 2
// under the empty name; see cgroups(7), /proc/pid/cgroup.
func readOwn(file string) (map[string]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for name := range strings.SplitSeq(parts[1], ",") {
			out[name] = parts[2]
		}
	}
	return out, nil
}

// readWords returns the words of a file, none when it cannot be read.
func readWords(file string) []string {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

// openControl opens a control file for writing and never creates it. It does
// without the poller of the runtime, which costs more than the write.
func openControl(file string) (*os.File, error) {
	for {
		fd, err := unix.Open(file, unix.O_WRONLY|unix.O_TRUNC|unix.O_CLOEXEC, 0)
		if err == nil {
			return os.NewFile(uintptr(fd), file), nil
		}
		if err != unix.EINTR {
			return nil, &fs.PathError{Op: "open", Path: file, Err: err}
		}
	}
}

// writeControl writes a control file in one call.
func writeControl(file, value string) error {
	f, err := openControl(file)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(value); err != nil {
		_ = f.Close() // The error that counts is the other one.
		return err
	}
	return f.Close()
}

// groupOwner says which runtime made a group: its process in its PID namespace,
// and when that began, since numbers of processes are used again.
type groupOwner struct {
	namespace uint64
	pid       int
	start     uint64
}

func (o groupOwner) String() string { return fmt.Sprintf("%d-%d-%d", o.namespace, o.pid, o.start) }

// groupName begins the name of each group for a child.
const groupName = "sallyport-child-"

// ownerOf reads the name of a group.
func ownerOf(name string) (groupOwner, bool) {
	rest, ok := strings.CutPrefix(name, groupName)
	if !ok {
		if rest, ok = strings.CutPrefix(name, leafName); !ok {
			return groupOwner{}, false
		}
	}
	var o groupOwner
	if n, err := fmt.Sscanf(rest, "%d-%d-%d", &o.namespace, &o.pid, &o.start); err != nil || n != 3 {
		return groupOwner{}, false
	}
	return o, o.pid > 0
}

func thisProcess() (groupOwner, error) {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return groupOwner{}, err
	}
	o := groupOwner{pid: os.Getpid()}
	if _, err := fmt.Sscanf(ns, "pid:[%d]", &o.namespace); err != nil {
		return groupOwner{}, fmt.Errorf("read %q: %w", ns, err)
	}
	var ok bool
	if o.start, ok = startOf(o.pid); !ok {
		return groupOwner{}, fmt.Errorf("the start of process %d is not known", o.pid)
	}
	return o, nil
}

// startOf returns when a process began, in clock ticks since boot: field 22 of
// proc_pid_stat(5). The name in the second field may hold anything.
func startOf(pid int) (uint64, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	i := strings.LastIndexByte(string(data), ')')
	fields := strings.Fields(string(data[i+1:]))
	if len(fields) < 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(fields[19], 10, 64)
	return n, err == nil
}

// sweepGroups removes the groups of runtimes of this PID namespace that are
// gone. A group that still holds processes stays: they are not this runtime's
// to end.
func (c *Controllers) sweepGroups() {
	for _, dir := range c.uniqueDirs() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			o, ok := ownerOf(e.Name())
			if !ok || o.namespace != c.name.namespace {
				continue
			}
			if start, alive := startOf(o.pid); !alive || start != o.start {
				_ = os.Remove(filepath.Join(dir, e.Name())) // The next start tries again.
			}
		}
	}
}

// Places returns how the names of this runtime's groups begin, and in which
// folders they are.
func (c *Controllers) Places() (prefix string, dirs []string) {
	return groupName + c.name.String() + "-", c.uniqueDirs()
}

// uniqueDirs returns the directories in which groups are made.
func (c *Controllers) uniqueDirs() []string {
	var out []string
	for _, name := range wanted {
		if d := c.dirs[name]; d != "" && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}
