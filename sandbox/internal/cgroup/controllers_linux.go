package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The kinds of control groups, for the record of a call.
const (
	KindV2 = "cgroup v2"
	KindV1 = "cgroup v1"
)

// wanted are the controllers that limits need, the indispensable ones first.
var wanted = [...]string{memory, pids, cpu}

const (
	memory = "memory"
	pids   = "pids"
	cpu    = "cpu"
)

// Controllers are the control groups that this process may use. They are safe
// for concurrent use.
type Controllers struct {
	root string
	kind string
	why  string
	// dirs maps each controller to the directory in which groups are made.
	// In version 2 it is the same for all.
	dirs map[string]string
	// name begins the name of each group.
	name groupOwner
}

// Open finds out what this machine gives, enables it where that is safe, and
// removes what runtimes that are gone left behind. root is put before /proc and
// /sys; only tests give one. Having no control groups is no error.
func Open(root string) (*Controllers, error) {
	c := &Controllers{root: root}
	mounts, err := readMounts(filepath.Join(c.root, "/proc/self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("control groups: %w", err)
	}
	own, err := readOwn(filepath.Join(c.root, "/proc/self/cgroup"))
	if err != nil {
		return nil, fmt.Errorf("control groups: %w", err)
	}
	if c.name, err = thisProcess(); err != nil {
		return nil, fmt.Errorf("control groups: %w", err)
	}
	dirs, why := c.openV2(mounts, own)
	if dirs != nil {
		c.kind, c.dirs = KindV2, dirs
	} else {
		v1, more := c.openV1(mounts, own)
		why = append(why, more...)
		if v1[memory] != "" || v1[pids] != "" {
			c.kind, c.dirs = KindV1, v1
		}
	}
	c.why = strings.Join(why, "; ")
	c.sweepGroups()
	return c, nil
}

// Kind returns [KindV2], [KindV1], or empty when there are none.
func (c *Controllers) Kind() string { return c.kind }

// Names returns which of memory, pids and cpu can be limited. The caller owns
// the slice.
func (c *Controllers) Names() []string {
	var out []string
	for _, name := range wanted {
		if c.dirs[name] != "" {
			out = append(out, name)
		}
	}
	return out
}

// Why says what is missing and why, empty when nothing is.
func (c *Controllers) Why() string { return c.why }

// openV2 returns the directory of version 2 in which groups can be made with
// memory and pids, or the reasons against it.
func (c *Controllers) openV2(mounts []mountedHierarchy, own map[string]string) (dirs map[string]string, why []string) {
	i := slices.IndexFunc(mounts, func(m mountedHierarchy) bool { return m.v2 })
	if i < 0 {
		return nil, []string{"cgroup v2 is not mounted"}
	}
	base, ok := mounts[i].groupDir(own[""])
	if !ok {
		return nil, []string{"the own group of cgroup v2 is not visible here"}
	}
	base = filepath.Join(c.root, base)
	// A runtime that made room for itself is in a group of its own already.
	if strings.HasPrefix(filepath.Base(base), leafName) {
		base = filepath.Dir(base)
	}
	offered := readWords(filepath.Join(base, "cgroup.controllers"))
	for _, name := range wanted[:2] {
		if !slices.Contains(offered, name) {
			return nil, []string{"cgroup v2 has no " + name + " controller at " + base}
		}
	}
	for _, f := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if unix.Access(filepath.Join(base, f), unix.W_OK) != nil {
			return nil, []string{"cgroup v2 is not delegated: " + filepath.Join(base, f) + " cannot be written"}
		}
	}
	if err := c.enableControllers(base, offered); err != nil {
		return nil, []string{"cgroup v2: " + err.Error()}
	}
	dirs = make(map[string]string)
	enabled := readWords(filepath.Join(base, "cgroup.subtree_control"))
	for _, name := range wanted {
		if slices.Contains(enabled, name) {
			dirs[name] = base
		} else {
			why = append(why, "cgroup v2 does not delegate the "+name+" controller")
		}
	}
	return dirs, why
}

// leafName begins the name of the group into which a runtime moves itself.
const leafName = "sallyport-runtime-"

// enableControllers switches the controllers on for the groups below base. A
// group that holds processes cannot do that, unless it is the root, so a
// runtime that is alone there moves to a leaf: "No Internal Process
// Constraint", Documentation/admin-guide/cgroup-v2.rst.
func (c *Controllers) enableControllers(base string, offered []string) error {
	control := filepath.Join(base, "cgroup.subtree_control")
	enabled := readWords(control)
	var lacking []string
	for _, name := range wanted {
		if slices.Contains(offered, name) && !slices.Contains(enabled, name) {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	// Only the root of the machine has no type.
	_, err := os.Stat(filepath.Join(base, "cgroup.type"))
	if isRoot := errors.Is(err, fs.ErrNotExist); !isRoot {
		if err := c.makeRoom(base); err != nil {
			return err
		}
	}
	for _, name := range lacking {
		if err := writeControl(control, "+"+name); err != nil && name != cpu {
			return fmt.Errorf("enable the %s controller: %w", name, err)
		}
	}
	return nil
}

// makeRoom moves this process out of base, where it must be alone.
func (c *Controllers) makeRoom(base string) error {
	self := fmt.Sprint(os.Getpid())
	for _, pid := range readWords(filepath.Join(base, "cgroup.procs")) {
		if pid != self {
			return fmt.Errorf("%s holds other processes; start the runtime in a group of its own, "+
				"such as with systemd-run --scope -p Delegate=yes (--user)", base)
		}
	}
	if !isDelegated(base) {
		return fmt.Errorf("%s is not marked as delegated, so that its manager may change it at any time; use Delegate=yes", base)
	}
	leaf := filepath.Join(base, leafName+c.name.String())
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a group for the runtime itself: %w", err)
	}
	if err := writeControl(filepath.Join(leaf, "cgroup.procs"), self); err != nil {
		_ = os.Remove(leaf) // The error that counts is the other one.
		return fmt.Errorf("move the runtime to a group of its own: %w", err)
	}
	return nil
}

// isDelegated reports whether a group was given away by its manager: to another
// user, by the mark of systemd, or by a cgroup namespace.
func isDelegated(base string) bool {
	var st unix.Stat_t
	if unix.Stat(base, &st) == nil && st.Uid != 0 && int(st.Uid) == os.Geteuid() {
		return true
	}
	for _, mark := range []string{"user.delegate", "trusted.delegate"} {
		var buf [8]byte
		if n, err := unix.Getxattr(base, mark, buf[:]); err == nil && string(buf[:n]) == "1" {
			return true
		}
	}
	host, err := os.Readlink("/proc/1/ns/cgroup")
	own, errOwn := os.Readlink("/proc/self/ns/cgroup")
	// The initial cgroup namespace has this number: PROC_CGROUP_INIT_INO.
	return err == nil && errOwn == nil && host == own && own != "cgroup:[4026531835]"
}

// openV1 returns the directories of version 1 that can be written.
func (c *Controllers) openV1(mounts []mountedHierarchy, own map[string]string) (dirs map[string]string, why []string) {
	dirs = make(map[string]string)
	for _, name := range wanted {
		i := slices.IndexFunc(mounts, func(m mountedHierarchy) bool { return !m.v2 && slices.Contains(m.controllers, name) })
		if i < 0 {
			why = append(why, "cgroup v1 has no "+name+" controller")
			continue
		}
		base, ok := mounts[i].groupDir(own[name])
		if !ok {
			why = append(why, "the own group of the "+name+" controller is not visible here")
			continue
		}
		base = filepath.Join(c.root, base)
		if unix.Access(base, unix.W_OK) != nil || unix.Access(filepath.Join(base, "cgroup.procs"), unix.W_OK) != nil {
			why = append(why, base+" cannot be written")
			continue
		}
		dirs[name] = base
	}
	return dirs, why
}
