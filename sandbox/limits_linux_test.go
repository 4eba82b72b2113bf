package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/cgroup"
)

// limited returns a workplace whose children have limits, on a machine that
// has the control groups for them.
func limited(t *testing.T, l Limits, controller string) *workplace {
	t.Helper()
	w := workspace(t, open(t, &Options{Warm: -1, Limits: l}))
	if !strings.Contains(strings.Join(w.r.platform.groups.Names(), " "), controller) {
		t.Skipf("no control group for %s: %s", controller, w.r.platform.groups.Why())
	}
	return w
}

// TestProcessesAreBounded has a child start more than it may, no matter who runs the
// gate.
func TestProcessesAreBounded(t *testing.T) {
	t.Parallel()
	w := limited(t, Limits{Processes: 24}, "pids")
	res := w.run(sallyport.SpawnOptions{}, "bash", "-c", `for i in $(seq 60); do sleep 5 & done 2>/dev/null; jobs -p | wc -l; kill $(jobs -p)`)
	if !strings.Contains(string(res.Stderr), "Resource temporarily unavailable") && res.ExitCode == 0 {
		t.Errorf("60 processes under a limit of 24: exit %d, %q, %q", res.ExitCode, res.Stdout, res.Stderr)
	}
}

// TestMemoryIsBounded has a child take more memory than it may, in several
// processes, none of which is over the limit alone.
func TestMemoryIsBounded(t *testing.T) {
	installed(t, "python3")
	w := limited(t, Limits{Memory: 128 << 20}, "memory")
	const script = `
import os, time
for _ in range(4):
    if os.fork() == 0:
        b = bytearray(50 << 20)
        for i in range(0, len(b), 4096): b[i] = 1
        time.sleep(1)
        os._exit(0)
bad = 0
for _ in range(4):
    bad += os.wait()[1] != 0
print("killed", bad)`
	res := w.run(sallyport.SpawnOptions{}, "python3", "-c", script)
	if res.ExitCode == 0 && strings.HasPrefix(string(res.Stdout), "killed 0") {
		t.Errorf("200 MiB under a limit of 128: exit %d, %q, %q", res.ExitCode, res.Stdout, res.Stderr)
	}
}

// TestGroupsAreRemoved counts control groups after the end.
func TestGroupsAreRemoved(t *testing.T) {
	r := open(t, &Options{Warm: 2})
	w := workspace(t, r)
	if r.platform.groups.Kind() == "" {
		t.Skipf("no control groups: %s", r.platform.groups.Why())
	}
	for range 5 {
		w.ok(nil, "true")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range groupDirs(t) {
		t.Errorf("%s is left behind", dir)
	}
}

// groupDirs lists the groups that this process has made: their names hold its
// number.
func groupDirs(t *testing.T) []string {
	t.Helper()
	var own []string
	for _, pattern := range []string{"/sys/fs/cgroup/sallyport-*", "/sys/fs/cgroup/*/sallyport-*"} {
		all, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range all {
			if strings.Contains(filepath.Base(dir), "-"+strconv.Itoa(os.Getpid())+"-") {
				own = append(own, dir)
			}
		}
	}
	return own
}

// TestStrictNamesWhatIsMissing asks for limits of cgroup v2.
func TestStrictNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := open(t, &Options{Warm: -1, Level: sallyport.LevelStrict})
	rep := r.Report()
	_, err := r.Confines(&sallyport.Grant{})
	if r.platform.groups.Kind() == cgroup.KindV2 {
		if rep.Level != sallyport.LevelStrict || err != nil {
			t.Errorf("level %q, %v, want strict", rep.Level, err)
		}
		return
	}
	if rep.Level != "" || err == nil || !strings.Contains(err.Error(), "cgroup v2 limits") {
		t.Errorf("level %q, %v, want a refusal that names cgroup v2", rep.Level, err)
	}
}

// TestLimitsThatNothingHolds: a limit that is set and that this machine cannot
// enforce refuses children and says so; a default is only named.
func TestLimitsThatNothingHolds(t *testing.T) {
	const (
		noCPU  = "processor time (no cpu controller)"
		noPIDs = "the number of processes (no pids controller"
		each   = "memory is bounded for each process, not for all of a child"
	)
	var held []string // of a limit of processes
	if os.Geteuid() == 0 {
		held = []string{noPIDs}
	}
	tests := []struct {
		name    string
		limits  Limits
		refused []string
		how     []string
	}{
		{"defaults", Limits{}, nil, append([]string{each}, held...)},
		{"memory", Limits{Memory: 1 << 30}, nil, []string{each}},
		{"files", Limits{FileBytes: 1 << 20, OpenFiles: 64, TmpBytes: 1 << 20}, nil, []string{"no control groups: "}},
		{"processors", Limits{CPUs: 0.5}, []string{noCPU}, []string{noCPU}},
		{"processes", Limits{Processes: 64}, held, held},
		{"both", Limits{Processes: 64, CPUs: 1}, append([]string{noCPU}, held...), held},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := open(t, &Options{Warm: -1, Limits: tt.limits})
			withoutGroups(t, r)
			rep := r.Report()
			limits := rep.Layers[len(rep.Layers)-1]
			if rep.Level == "" || limits.Name != "limits" || limits.On != (len(tt.refused) == 0) {
				t.Errorf("level %q, layer %+v, want limits on: %t", rep.Level, limits, len(tt.refused) == 0)
			}
			for _, want := range tt.how {
				if !strings.Contains(limits.How, want) {
					t.Errorf("the layer says %q, want %q", limits.How, want)
				}
			}
			_, err := r.Confines(&sallyport.Grant{})
			if e, ok := errors.AsType[*sallyport.Error](err); ok != (len(tt.refused) > 0) || ok && e.Code != sallyport.CodeNotAvailable {
				t.Fatalf("Confines = %v, want not_available: %t", err, len(tt.refused) > 0)
			}
			for _, want := range tt.refused {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Confines = %v, want %q named", err, want)
				}
			}
		})
	}
}

// TestTmpWithoutMounts: without a mount namespace /tmp has no size.
func TestTmpWithoutMounts(t *testing.T) {
	t.Parallel()
	for level, want := range map[sallyport.Level]int{sallyport.LevelFull: 0, sallyport.LevelLandlock: 1, sallyport.LevelNone: 0} {
		r := open(t, &Options{Level: level, Warm: -1, Limits: Limits{TmpBytes: 1 << 20}})
		if asked, _ := r.unenforcedLimits(); len(asked) != want {
			t.Errorf("at %s not held: %q, want %d", level, asked, want)
		}
	}
}

// withoutGroups has a runner find no control groups.
func withoutGroups(t *testing.T, r *Runner) {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc/self"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mountinfo", "cgroup"} {
		if err := os.WriteFile(filepath.Join(root, "proc/self", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	groups, err := cgroup.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	r.platform.groups, r.platform.bounds = groups, cgroup.Limits{}
}
