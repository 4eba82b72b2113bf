package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
)

// kernelLevels are those at which the kernel holds a child of this user.
func kernelLevels() []sallyport.Level {
	if os.Geteuid() == 0 {
		return []sallyport.Level{sallyport.LevelFull}
	}
	return []sallyport.Level{sallyport.LevelFull, sallyport.LevelLandlock}
}

// TestHostAsNobody runs the tests of what a child does to its host as an
// ordinary user.
func TestHostAsNobody(t *testing.T) {
	t.Parallel()
	asNobody(t, "^TestHost(Files|Processes)")
}

// A file that runs as the user of the runtime would stay behind in the reach,
// for everybody on the host.
func TestHostFilesLendNoIdentity(t *testing.T) {
	t.Parallel()
	for _, level := range kernelLevels() {
		w := workspace(t, open(t, &Options{Warm: -1, Level: level}))
		res := w.run(sallyport.SpawnOptions{}, "sh", "-c", `cp /bin/true x && chmod 700 x && chmod 755 x && mkdir d || exit 1
			for m in 4755 2755 6755 u+s g+s; do chmod $m x && echo "$m worked"; done
			install -m 4755 /bin/true y; mknod -m 4755 z p; chmod 2755 d && echo "folder worked"; exit 0`)
		if res.ExitCode != 0 || len(res.Stdout) > 0 {
			t.Errorf("%s: exit %d, %s%s", level, res.ExitCode, res.Stdout, res.Stderr)
		}
		for _, name := range []string{"x", "y", "z", "d"} {
			info, err := os.Stat(w.dir + "/" + name)
			if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
				t.Errorf("%s: the child left %s with the mode %v", level, name, info.Mode())
			}
		}
	}
}

// Without a process namespace a child sees the processes of its user. It
// changes no limit and no priority of theirs.
func TestHostProcessesAreLeftAlone(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root is not held by Landlock alone; TestHostAsNobody runs it")
	}
	w := workspace(t, open(t, &Options{Warm: -1, Level: sallyport.LevelLandlock}))
	victim := exec.Command("sleep", mark(t))
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	pid := victim.Process.Pid
	type state struct {
		CPU, Files unix.Rlimit
		Priority   int
		Affinity   unix.CPUSet
	}
	look := func() (s state) {
		for _, err := range []error{
			unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &s.CPU),
			unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &s.Files),
			unix.SchedGetaffinity(pid, &s.Affinity),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		s.Priority, _ = unix.Getpriority(unix.PRIO_PROCESS, pid)
		return s
	}
	before := look()
	for _, try := range []string{
		"prlimit --pid %d --cpu=1:1", "prlimit --pid %d --nofile=3:3", "taskset -p 1 %d",
		"renice -n 19 -p %d", "ionice -c 3 -p %d", "chrt -i -p 0 %d",
	} {
		script := fmt.Sprintf(try, pid)
		if res := w.run(sallyport.SpawnOptions{}, "sh", "-c", script); res.ExitCode == 0 {
			t.Errorf("%s worked: %s", script, res.Stdout)
		}
	}
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Errorf("a process outside (-before +after):\n%s", diff)
	}
	// Its own it may change.
	w.ok(nil, "sh", "-c", "ulimit -n 50 && nice -n 5 true && ionice -c 3 true && taskset 1 true && prlimit --nofile=40:40 true")
}
