package sandbox

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// groupsMadeBy lists the control groups that a runtime has made.
func groupsMadeBy(pid int) (list []string) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "sallyport-child-") && strings.Contains(d.Name(), fmt.Sprintf("-%d-", pid)) {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// A21: what one runtime leaves when it is killed is gone at once, and the groups of
// the others that run stay.
func TestA21_GroupsOfAKilledRuntimeAreRemoved(t *testing.T) {
	r := open(t, &Options{Warm: 1})
	if r.platform.groups == nil || r.platform.groups.Kind() == "" {
		t.Skip("there are no control groups here")
	}
	w := workspace(t, r)
	c := w.start(t.Context(), sallyport.SpawnOptions{}, "sleep", "1000")
	warm(t, r, 1)
	mine := len(groupsMadeBy(os.Getpid()))
	cmd := role(t, "runtime", &syscall.SysProcAttr{}, mark(t))
	cmd.Args[1] = "-test.run=^TestKilledRuntime$"
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if len(groupsMadeBy(cmd.Process.Pid)) == 0 {
		t.Error("the runtime has made no groups")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, "its groups are gone", func() bool { return len(groupsMadeBy(cmd.Process.Pid)) == 0 })
	if left := len(groupsMadeBy(os.Getpid())); left < mine {
		t.Errorf("%d of the %d groups of another runtime are left", left, mine)
	}
	c.Stop(0)
	if res := w.run(sallyport.SpawnOptions{}, "true"); res.ExitCode != 0 {
		t.Errorf("the next child of another runtime: exit %d", res.ExitCode)
	}
}

// A21: a runtime that is closed long after its last child leaves the groups of
// another one of the same process alone, the empty one for its next child, too.
func TestA21_GroupsOutliveAnotherRuntimeOfTheProcess(t *testing.T) {
	r, idle := open(t, &Options{Warm: -1}), open(t, &Options{Warm: -1})
	if r.platform.groups.Kind() == "" {
		t.Skip("there are no control groups here")
	}
	w := workspace(t, r)
	w.ok(nil, "true")
	workspace(t, idle).ok(nil, "true")
	eventually(t, "a group is ready", func() bool { return r.platform.spare.Load() != nil && idle.platform.spare.Load() != nil })
	if err := idle.platform.launcher.conn.SetDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := idle.Close(); err != nil {
		t.Fatal(err)
	}
	w.ok(nil, "true")
}
