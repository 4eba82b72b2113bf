package cgroup

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// period is the time over which processor time is counted, the default of the
// kernel.
const period = 100 * time.Millisecond

// minQuota is the least that the kernel grants in one period.
const minQuota = time.Millisecond

// closeWait bounds how long Close waits for the last process to be gone: the
// kernel takes an ended process out of its group a moment after its end.
const closeWait = 2 * time.Second

// Limits are what the processes of one group may use together. The zero value
// of a field means no limit.
type Limits struct {
	// Memory is in bytes, without swap.
	Memory int64
	// Processes counts threads, too.
	Processes int
	// CPUs is the number of processors' worth of time.
	CPUs float64
}

// Group is a control group for one child. It is safe for concurrent use,
// except that nothing may follow Close.
type Group struct {
	v2  bool
	why string
	// dirs are the directories of the group by controller; unique lists each
	// once.
	dirs   map[string]string
	unique []string
}

// New makes a group. A limit for which there is no controller is an error that
// matches [errors.ErrUnsupported]: what cannot be enforced is not promised.
func (c *Controllers) New(l Limits) (*Group, error) {
	if c.kind == "" {
		return nil, fmt.Errorf("there are no control groups: %s: %w", c.why, errors.ErrUnsupported)
	}
	g := &Group{v2: c.kind == KindV2, why: c.why, dirs: make(map[string]string)}
	var unique [8]byte
	rand.Read(unique[:]) // Never fails; see crypto/rand.
	name := groupName + c.name.String() + "-" + hex.EncodeToString(unique[:])
	for _, dir := range c.uniqueDirs() {
		d := filepath.Join(dir, name)
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("make a control group: %w", err), g.Close())
		}
		g.unique = append(g.unique, d)
	}
	for controller, dir := range c.dirs {
		if dir != "" {
			g.dirs[controller] = filepath.Join(dir, name)
		}
	}
	if err := g.setWeight(childWeight); err != nil {
		return nil, errors.Join(fmt.Errorf("weigh a control group: %w", err), g.Close())
	}
	if err := g.Limit(l); err != nil {
		return nil, errors.Join(fmt.Errorf("limit a control group: %w", err), g.Close())
	}
	return g, nil
}

// Limit sets limits of a group that has none yet, so that a group can be made
// and filled before it is known what for. The error is that of New.
func (g *Group) Limit(l Limits) error {
	for name, want := range map[string]bool{memory: l.Memory > 0, pids: l.Processes > 0, cpu: l.CPUs > 0} {
		if want && g.dirs[name] == "" {
			return fmt.Errorf("no control group limits %s: %s: %w", name, g.why, errors.ErrUnsupported)
		}
	}
	if l.Memory > 0 {
		if err := g.limitMemory(strconv.FormatInt(l.Memory, 10)); err != nil {
			return err
		}
	}
	if l.Processes > 0 {
		if err := g.writeLimit(pids, "pids.max", strconv.Itoa(l.Processes)); err != nil {
			return err
		}
	}
	if l.CPUs <= 0 {
		return nil
	}
	quota := int64(math.Max(l.CPUs*float64(period.Microseconds()), float64(minQuota.Microseconds())))
	us := strconv.FormatInt(period.Microseconds(), 10)
	if g.v2 {
		return g.writeLimit(cpu, "cpu.max", strconv.FormatInt(quota, 10)+" "+us)
	}
	return errors.Join(g.writeLimit(cpu, "cpu.cfs_period_us", us), g.writeLimit(cpu, "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)))
}

// limitMemory limits memory and allows no swap. Without swap accounting the
// files for it are missing, and the system's swap counts as memory beyond.
func (g *Group) limitMemory(bytes string) error {
	limit, swap, none := "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes
	if g.v2 {
		limit, swap, none = "memory.max", "memory.swap.max", "0"
	}
	if err := g.writeLimit(memory, limit, bytes); err != nil {
		return err
	}
	if err := g.writeLimit(memory, swap, none); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (g *Group) writeLimit(controller, file, value string) error {
	return writeControl(filepath.Join(g.dirs[controller], file), value)
}

// Add puts a process, with all its threads, into the group. What it starts
// from then on is in it as well. Memory that it has already stays with the
// group in which it was.
func (g *Group) Add(pid int) error {
	for _, d := range g.unique {
		if err := writeControl(filepath.Join(d, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("add process %d to its control group: %w", pid, err)
		}
	}
	return nil
}

// Doors opens what a thread writes 0 to in order to move itself into the group,
// so that what it starts is born there: nil in version 2, where the threads of a
// process stay together. A process that is moved by another one waits for RCU,
// 10 ms on a quiet machine; a thread that moves itself does not
// (kernel/cgroup/cgroup.c: cgroup_procs_write_start). The caller closes them.
func (g *Group) Doors() ([]*os.File, error) {
	if g.v2 {
		return nil, nil
	}
	return openDoors(g.unique)
}

// Home is [Group.Doors] of the groups in which this process is itself.
func (c *Controllers) Home() ([]*os.File, error) {
	if c.kind != KindV1 {
		return nil, nil
	}
	return openDoors(c.uniqueDirs())
}

func openDoors(dirs []string) (list []*os.File, err error) {
	for _, d := range dirs {
		f, err := openControl(filepath.Join(d, "tasks"))
		if err != nil {
			for _, f := range list {
				f.Close()
			}
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// Weights for processor time, in hundredths of the usual one.
const (
	// childWeight is that of a group: beside a process that is not in one, a
	// child with hundreds of processes gets a third of a processor, or all of it
	// while nothing else runs.
	childWeight = 50
	// endWeight is that of a group that is being ended. Its processes do nothing
	// but free what they hold, which takes the longer the less they get.
	endWeight = 2000
)

// setWeight sets the weight where there is a controller.
func (g *Group) setWeight(hundredths int) error {
	if g.dirs[cpu] == "" {
		return nil
	}
	if g.v2 {
		return g.writeLimit(cpu, "cpu.weight", strconv.Itoa(hundredths))
	}
	return g.writeLimit(cpu, "cpu.shares", strconv.Itoa(1024*hundredths/100))
}

// End kills every process of the group as [Group.Kill] does, and lifts what would
// have them wait for a processor.
func (g *Group) End() error {
	var lifted error
	if g.dirs[cpu] != "" && len(g.unique) > 0 {
		lifted = g.setWeight(endWeight)
		if g.v2 {
			lifted = errors.Join(lifted, g.writeLimit(cpu, "cpu.max", "max"))
		} else {
			lifted = errors.Join(lifted, g.writeLimit(cpu, "cpu.cfs_quota_us", "-1"))
		}
	}
	return errors.Join(g.Kill(), lifted)
}

// Kill ends every process of the group. In version 1 that is no single step: a
// process that forks fast enough may outrun it, unless its number is limited.
func (g *Group) Kill() error {
	if len(g.unique) == 0 {
		return nil
	}
	if g.v2 {
		err := writeControl(filepath.Join(g.unique[0], "cgroup.kill"), "1")
		// The file came with Linux 5.14.
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var failed error
	for _, d := range g.unique {
		for _, w := range readWords(filepath.Join(d, "cgroup.procs")) {
			pid, err := strconv.Atoi(w)
			if err != nil || pid <= 0 {
				continue // 0 is a process of another PID namespace.
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				failed = err
			}
		}
	}
	return failed
}

// Close ends what is left in the group and removes it. An error means that it
// is still there; the next [Open] of a later runtime removes it.
func (g *Group) Close() error {
	deadline := time.Now().Add(closeWait)
	for wait := 200 * time.Microsecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := g.removeDirs()
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
		if err := g.Kill(); err != nil {
			return fmt.Errorf("end the processes of a control group: %w", err)
		}
		time.Sleep(wait)
	}
}

// removeDirs removes the directories; what is gone already does not count.
func (g *Group) removeDirs() error {
	for len(g.unique) > 0 {
		err := unix.Rmdir(g.unique[0])
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove a control group: %w", err)
		}
		g.unique = g.unique[1:]
	}
	return nil
}
