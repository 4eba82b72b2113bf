package sandbox

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/cgroup"
)

// groupsOf returns the control groups of a process, one a line.
func groupsOf(t *testing.T, pid int) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A helper is born in its control group: to move it there would wait for RCU.
// The launcher, which goes in first, is back when it is there.
func TestGroupIsEnteredBeforeTheFork(t *testing.T) {
	t.Parallel()
	r := open(t, &Options{Warm: -1})
	if r.platform.groups.Kind() != cgroup.KindV1 {
		t.Skip("no control groups of version 1")
	}
	workspace(t, r).ok(nil, "true") // there is a launcher from now on
	for range 3 {
		h, err := r.startHelper(r.helperAttributes(nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := len(r.platform.groups.Names())
		if got := groupsOf(t, h.proc.Pid); strings.Count(got, "sallyport-child-") != want {
			t.Errorf("the groups of a helper that has just been forked:\n%swant its own for %v", got, r.platform.groups.Names())
		}
		if got := groupsOf(t, r.platform.launcher.proc.Pid); strings.Contains(got, "sallyport-child-") {
			t.Errorf("the groups of the launcher:\n%s", got)
		}
		h.discard()
	}
}

// The launcher takes memory for every child, and lives as long as the runtime.
func TestLauncherCollectsItsGarbage(t *testing.T) {
	t.Parallel()
	r := open(t, &Options{Warm: -1})
	workspace(t, r).ok(nil, "true")
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.platform.launcher.proc.Pid))
	if err != nil || strings.Contains(string(data), "GOGC") {
		t.Errorf("the environment of the launcher is %q, %v, want a collector", data, err)
	}
}

// What helpers have for themselves is not handed on.
func TestTimerSlackIsTheUsual(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	for range 2 { // the first one is not forked by the launcher
		res := w.run(sallyport.SpawnOptions{}, "cat", "/proc/self/timerslack_ns")
		if got := string(res.Stdout); got != "50000\n" {
			t.Errorf("timer slack = %q", got)
		}
	}
}
