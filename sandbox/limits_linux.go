package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/sandbox/internal/cgroup"
)

// controlGroup is a control group of Linux.
type controlGroup = cgroup.Group

// openLimits finds the control groups of this machine. Without any, the
// limits of each process are what there is.
func (r *Runner) openLimits() error {
	if r.o.without.has(layerGroups) {
		return nil
	}
	groups, err := cgroup.Open("")
	if err != nil {
		return fmt.Errorf("sandbox: control groups: %w", err)
	}
	p, l := &r.platform, r.o.Limits
	p.groups = groups
	names := groups.Names()
	if slices.Contains(names, "memory") {
		p.bounds.Memory = l.Memory
	}
	if slices.Contains(names, "pids") {
		p.bounds.Processes = l.Processes
	}
	if slices.Contains(names, "cpu") {
		p.bounds.CPUs = l.CPUs
	}
	return nil
}

// newGroup makes the control group of a helper, nil when there are none, and
// returns what removes it when the tree is gone. The kernel may need a moment
// for that, and only Close waits for it. The next helper finds one ready.
func (r *Runner) newGroup() (g *cgroup.Group, gone func(), err error) {
	p := &r.platform
	if p.groups == nil || p.groups.Kind() == "" {
		return nil, func() {}, nil
	}
	if g = p.spare.Swap(nil); g == nil {
		if g, err = p.groups.New(p.bounds); err != nil {
			return nil, nil, fmt.Errorf("limits: %w", err)
		}
	}
	return g, func() { p.removals.Go(func() { r.removeGroup(g); r.makeSpare() }) }, nil
}

func (r *Runner) removeGroup(g *cgroup.Group) {
	if err := g.Close(); err != nil {
		r.logger.Warn("sandbox: a control group is left behind", "error", err)
	}
}

// makeSpare has a control group ready for the next helper.
func (r *Runner) makeSpare() {
	p := &r.platform
	if p.spare.Load() != nil {
		return
	}
	// Who needs one learns why there is none.
	if g, err := p.groups.New(p.bounds); err == nil && !p.spare.CompareAndSwap(nil, g) {
		r.removeGroup(g)
	}
}

// childNice is how much children give way where no group has a weight: with 512
// of them that want to run, this process is late by seconds else.
const childNice = 10

// childNiceness returns by how much the priority of a child is lowered.
func (r *Runner) childNiceness() int {
	if r.platform.groups == nil || !slices.Contains(r.platform.groups.Names(), "cpu") {
		return childNice
	}
	return 0
}

// openDoors opens the way into a group and back, nil when there is none.
func (r *Runner) openDoors(g *cgroup.Group) ([]*os.File, error) {
	if g == nil {
		return nil, nil
	}
	there, err := g.Doors()
	if err == nil && there != nil {
		var back []*os.File
		if back, err = r.platform.groups.Home(); err == nil {
			return append(there, back...), nil
		}
		closeAll(there)
	}
	if err != nil {
		err = fmt.Errorf("limits: %w", err)
	}
	return nil, err
}

// strictLimits reports whether cgroup v2 bounds memory and processes.
func (r *Runner) strictLimits() bool {
	return r.platform.groups != nil && r.platform.groups.Kind() == cgroup.KindV2
}

// unenforcedLimits lists limits that nothing enforces on this machine: those
// that were asked for, and defaults. A limit of memory is not among them;
// without its controller it bounds each process by RLIMIT_DATA.
func (r *Runner) unenforcedLimits() (asked, others []string) {
	if r.platform.groups == nil {
		return nil, nil
	}
	names := r.platform.groups.Names()
	if r.asked.CPUs > 0 && !slices.Contains(names, "cpu") {
		asked = append(asked, "processor time (no cpu controller)")
	}
	// RLIMIT_NPROC does not hold root (kernel/fork.c: copy_process).
	if os.Geteuid() == 0 && !slices.Contains(names, "pids") {
		const processes = "the number of processes (no pids controller, and a resource limit does not hold root)"
		if r.asked.Processes > 0 {
			asked = append(asked, processes)
		} else {
			others = append(others, processes)
		}
	}
	// Only a mount namespace has a /tmp with a size.
	if r.asked.TmpBytes > 0 && !r.platform.namespaces {
		asked = append(asked, "the size of /tmp (no mount namespace)")
	}
	return asked, others
}

// limitsHow says by what a child's use is bounded, and what is not.
func (r *Runner) limitsHow() string {
	g := r.platform.groups
	if g == nil {
		return "resource limits of each process"
	}
	var parts []string
	if asked, others := r.unenforcedLimits(); len(asked)+len(others) > 0 {
		parts = append(parts, "not bounded here: "+strings.Join(append(asked, others...), ", "))
	}
	if g.Kind() != "" {
		parts = append(parts, g.Kind()+" for "+strings.Join(g.Names(), ", "))
	}
	parts = append(parts, "resource limits of each process")
	if !slices.Contains(g.Names(), "memory") {
		parts = append(parts, "memory is bounded for each process, not for all of a child")
	}
	parts = append(parts, r.countersHow())
	switch why := g.Why(); {
	case g.Kind() == "":
		parts = append(parts, "no control groups: "+why)
	case why != "":
		parts = append(parts, why)
	}
	return strings.Join(parts, "; ")
}
