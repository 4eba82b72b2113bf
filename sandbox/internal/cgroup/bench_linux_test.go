package cgroup

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// BenchmarkGroup makes, fills and removes a group as for one child.
func BenchmarkGroup(b *testing.B) {
	c := real(b)
	for b.Loop() {
		g, err := c.New(Limits{Memory: 64 << 20, Processes: 64, CPUs: 1})
		must(b, err)
		must(b, g.Close())
	}
}

// BenchmarkGroupSteps tells what the parts of BenchmarkGroup take.
func BenchmarkGroupSteps(b *testing.B) {
	c := real(b)
	b.Run("empty", func(b *testing.B) {
		for b.Loop() {
			g, err := c.New(Limits{})
			must(b, err)
			must(b, g.Close())
		}
	})
	b.Run("limits", func(b *testing.B) {
		g := group(b, c, Limits{})
		for b.Loop() {
			must(b, g.Limit(Limits{Memory: 64 << 20, Processes: 64, CPUs: 1}))
		}
	})
}

// BenchmarkAdd moves a process into a group, as every start does.
func BenchmarkAdd(b *testing.B) {
	c := real(b)
	gs := []*Group{group(b, c, Limits{}), group(b, c, Limits{})}
	cmd := exec.CommandContext(b.Context(), "sleep", "600")
	must(b, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for i := 0; b.Loop(); i++ {
		must(b, gs[i%2].Add(cmd.Process.Pid))
	}
}

// groupStats are what the processes of a group used. What a kernel does not tell is
// zero.
type groupStats struct {
	// OOMKilled counts processes that were killed for want of memory.
	OOMKilled int64
	// PeakMemory is in bytes.
	PeakMemory int64
	// CPU is the processor time.
	CPU time.Duration
	// Refused counts attempts to start a process beyond the limit.
	Refused int64
}

// stats returns what was used so far. It is to be asked before Close.
func (g *Group) stats() groupStats {
	if len(g.unique) == 0 {
		return groupStats{}
	}
	at := func(controller, file string) string { return filepath.Join(g.dirs[controller], file) }
	if g.v2 {
		return groupStats{
			OOMKilled:  readField(at(memory, "memory.events"), "oom_kill"),
			PeakMemory: readNumber(at(memory, "memory.peak")),
			CPU:        time.Duration(readField(filepath.Join(g.unique[0], "cpu.stat"), "usage_usec")) * time.Microsecond,
			Refused:    readField(at(pids, "pids.events"), "max"),
		}
	}
	return groupStats{
		OOMKilled:  readField(at(memory, "memory.oom_control"), "oom_kill"),
		PeakMemory: readNumber(at(memory, "memory.max_usage_in_bytes")),
		// Only where the two controllers are mounted together, as usual.
		CPU:     time.Duration(readNumber(at(cpu, "cpuacct.usage"))),
		Refused: readField(at(pids, "pids.events"), "max"),
	}
}

// readNumber reads a file that holds one number.
func readNumber(file string) int64 {
	w := readWords(file)
	if len(w) != 1 {
		return 0
	}
	n, err := strconv.ParseInt(w[0], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// readField reads one number of a file with lines "name number".
func readField(file, name string) int64 {
	w := readWords(file)
	for i := 0; i+1 < len(w); i += 2 {
		if w[i] == name {
			n, err := strconv.ParseInt(w[i+1], 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}
