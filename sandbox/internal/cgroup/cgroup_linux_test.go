package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// real opens the control groups of this machine.
func real(t testing.TB) *Controllers {
	t.Helper()
	c, err := Open("")
	must(t, err)
	if c.Kind() == "" {
		if os.Getenv("CI") == "true" && os.Geteuid() == 0 {
			t.Fatalf("no control groups: %s", c.Why())
		}
		t.Skipf("no control groups: %s", c.Why())
	}
	return c
}

func group(t testing.TB, c *Controllers, l Limits) *Group {
	t.Helper()
	g, err := c.New(l)
	must(t, err)
	t.Cleanup(func() { must(t, g.Close()) })
	return g
}

// start starts a shell that waits for a line before it runs the script, and
// puts it into the group.
func start(t testing.TB, g *Group, script string) (run func() (string, error)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "read -r _; "+script)
	in, err := cmd.StdinPipe()
	must(t, err)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	must(t, g.Add(cmd.Process.Pid))
	return func() (string, error) {
		// A child that was killed already takes no line.
		_, _ = in.Write([]byte("\n"))
		err := cmd.Wait()
		return out.String(), err
	}
}

// TestDoors has a thread start a program in a group, and go back.
func TestDoors(t *testing.T) {
	c := real(t)
	g := group(t, c, Limits{Processes: 10})
	there, err := g.Doors()
	must(t, err)
	back, err := c.Home()
	must(t, err)
	if c.Kind() == KindV2 {
		if len(there)+len(back) > 0 {
			t.Errorf("%d doors in, %d back in version 2", len(there), len(back))
		}
		return
	}
	pass := func(doors []*os.File) {
		for _, f := range doors {
			_, err := f.WriteAt([]byte("0"), 0)
			must(t, err)
		}
	}
	runtime.LockOSThread()
	pass(there)
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	err = cmd.Start()
	pass(back)
	runtime.UnlockOSThread()
	must(t, err)
	for _, d := range g.unique {
		if diff := cmp.Diff([]string{fmt.Sprint(cmd.Process.Pid)}, readWords(filepath.Join(d, "tasks"))); diff != "" {
			t.Errorf("the threads of %s (-want +got):\n%s", d, diff)
		}
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, f := range append(there, back...) {
		must(t, f.Close())
	}
}

func TestMemoryIsLimited(t *testing.T) {
	g := group(t, real(t), Limits{Memory: 32 << 20})
	// tail keeps what has no line end.
	_, err := start(t, g, "head -c 200000000 /dev/zero | tail -c 150000000 >/dev/null")()
	if s := g.stats(); s.OOMKilled == 0 || s.PeakMemory < 16<<20 || s.PeakMemory > 32<<20 {
		t.Errorf("after 150 MB in 32 MiB: %v, %+v", err, s)
	}
	g = group(t, real(t), Limits{Memory: 32 << 20})
	if out, err := start(t, g, "head -c 1000000 /dev/zero | tail -c 1000000 >/dev/null")(); err != nil || g.stats().OOMKilled != 0 {
		t.Errorf("after 1 MB: %v %s, %+v", err, out, g.stats())
	}
}

func TestProcessesAreLimited(t *testing.T) {
	g := group(t, real(t), Limits{Processes: 5})
	const fork = "for i in 1 2 3 4 5 6 7 8; do sleep 60 >/dev/null 2>&1 & done; wait"
	// The group is closed while its processes run.
	run := start(t, g, fork)
	done := make(chan string, 1)
	go func() {
		out, _ := run()
		done <- out
	}()
	for deadline := time.Now().Add(20 * time.Second); g.stats().Refused == 0; {
		if time.Now().After(deadline) {
			t.Fatalf("no fork was refused: %+v", g.stats())
		}
		time.Sleep(5 * time.Millisecond)
	}
	if n := len(readWords(filepath.Join(g.dirs[pids], "cgroup.procs"))); n > 5 {
		t.Errorf("%d processes run, want at most 5", n)
	}
	must(t, g.Close())
	<-done
}

func TestProcessorTimeIsLimited(t *testing.T) {
	c := real(t)
	// So little is held back on a busy machine, too, which leaves a loop no half of a
	// processor.
	g := group(t, c, Limits{CPUs: 0.02})
	file, want := "cpu.cfs_quota_us", []string{"2000"}
	if c.Kind() == KindV2 {
		file, want = "cpu.max", []string{"2000", "100000"}
	}
	if diff := cmp.Diff(want, readWords(filepath.Join(g.dirs[cpu], file))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
	// The group is closed while the loop runs.
	run := start(t, g, "while :; do :; done")
	done := make(chan struct{})
	go func() { defer close(done); _, _ = run() }()
	for deadline := time.Now().Add(20 * time.Second); readField(filepath.Join(g.dirs[cpu], "cpu.stat"), "nr_throttled") == 0; {
		if time.Now().After(deadline) {
			t.Error("a busy loop was never held back")
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	must(t, g.Close())
	<-done
}

func TestCloseRemovesAGroupWithProcesses(t *testing.T) {
	g, err := real(t).New(Limits{Processes: 10})
	must(t, err)
	dirs := g.unique
	run := start(t, g, "sleep 60 & sleep 60")
	done := make(chan error, 1)
	go func() { _, err := run(); done <- err }()
	must(t, g.Close())
	var exit *exec.ExitError
	if err := <-done; !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the child ended with %v, want killed", err)
	}
	for _, d := range dirs {
		if _, err := os.Stat(d); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", d, err)
		}
	}
	must(t, g.Close())
}

// ours lists the groups for children that exist.
func ours(t testing.TB, c *Controllers) []string {
	t.Helper()
	var out []string
	for _, d := range c.uniqueDirs() {
		found, err := filepath.Glob(filepath.Join(d, groupName+c.name.String()+"-*"))
		must(t, err)
		out = append(out, found...)
	}
	return out
}

func TestAThousandGroupsLeaveNothing(t *testing.T) {
	c := real(t)
	for range 1000 {
		g, err := c.New(Limits{Memory: 64 << 20, Processes: 10, CPUs: 1})
		must(t, err)
		must(t, g.Close())
	}
	if left := ours(t, c); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestA21_OpenRemovesWhatDeadRuntimesLeft(t *testing.T) {
	c := real(t)
	dir := c.uniqueDirs()[0]
	self := c.name
	dead := groupOwner{self.namespace, self.pid, self.start + 1}
	elsewhere := groupOwner{self.namespace + 1, 1 << 22, 1}
	tests := []struct {
		name string
		gone bool
	}{
		{groupName + dead.String() + "-1", true},
		{leafName + dead.String(), true},
		{groupName + self.String() + "-x", false},
		{groupName + elsewhere.String() + "-1", false},
		{groupName + "something", false},
		{"other-" + dead.String(), false},
	}
	for _, tt := range tests {
		must(t, os.Mkdir(filepath.Join(dir, tt.name), 0o755))
		defer os.Remove(filepath.Join(dir, tt.name))
	}
	_, err := Open("")
	must(t, err)
	for _, tt := range tests {
		_, err := os.Stat(filepath.Join(dir, tt.name))
		if gone := errors.Is(err, os.ErrNotExist); gone != tt.gone {
			t.Errorf("%s: gone = %v, want %v", tt.name, gone, tt.gone)
		}
	}
}

// realVersion2 returns the mounted hierarchy of version 2.
func realVersion2(t *testing.T) (*Controllers, string) {
	t.Helper()
	mounts, err := readMounts("/proc/self/mountinfo")
	must(t, err)
	own, err := readOwn("/proc/self/cgroup")
	must(t, err)
	base := ""
	for _, m := range mounts {
		if d, ok := m.groupDir(own[""]); m.v2 && ok && os.Geteuid() == 0 {
			base = d
		}
	}
	if base == "" {
		t.Skip("cgroup v2 is not mounted, or this is not the administrator")
	}
	c := &Controllers{kind: KindV2, dirs: map[string]string{"": base}}
	c.name, err = thisProcess()
	must(t, err)
	return c, base
}

// TestVersion2KillsAndRemoves uses the real hierarchy of version 2, with the
// controllers that are enabled there, if any.
func TestVersion2KillsAndRemoves(t *testing.T) {
	c, base := realVersion2(t)
	d := filepath.Join(base, groupName+c.name.String()+"-v2")
	must(t, os.Mkdir(d, 0o755))
	g := &Group{v2: true, dirs: map[string]string{}, unique: []string{d}}
	run := start(t, g, "sleep 60 & setsid sleep 60")
	done := make(chan error, 1)
	go func() { _, err := run(); done <- err }()
	must(t, g.Close())
	if err := <-done; err == nil {
		t.Error("the child was not killed")
	}
	if _, err := os.Stat(d); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is still there: %v", err)
	}
}

// Hundreds that want to run end in one step.
func TestH3_Version2EndsHundredsAtOnce(t *testing.T) {
	c, base := realVersion2(t)
	d := filepath.Join(base, groupName+c.name.String()+"-v2-many")
	must(t, os.Mkdir(d, 0o755))
	g := &Group{v2: true, dirs: map[string]string{}, unique: []string{d}}
	run := start(t, g, "for i in $(seq 400); do while :; do :; done & done; wait")
	done := make(chan error, 1)
	go func() { _, err := run(); done <- err }()
	for len(readWords(filepath.Join(d, "cgroup.procs"))) < 400 {
		time.Sleep(10 * time.Millisecond)
	}
	must(t, g.End())
	<-done
	for left := 400; left > 0; left = len(readWords(filepath.Join(d, "cgroup.procs"))) {
		time.Sleep(time.Millisecond)
	}
	must(t, g.removeDirs())
}
