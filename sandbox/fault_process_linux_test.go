package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// roleVar says which part of a fault a second process of this test plays.
const roleVar = "SALLYPORT_TEST_ROLE"

// role starts this test again in another role.
func role(t *testing.T, name string, attr *syscall.SysProcAttr, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-test.run=^" + t.Name() + "$", "-test.v=false", "--"}, args...)...)
	cmd.Env = append(os.Environ(), roleVar+"="+name)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = attr
	return cmd
}

// TestKilledRuntime kills a runtime that has a child, which has a grandchild
// in a session of its own, and warm helpers. All of them die.
func TestKilledRuntime(t *testing.T) {
	if os.Getenv(roleVar) == "runtime" {
		r, err := New(asAsked(&Options{Warm: 2}))
		if err != nil {
			t.Fatal(err)
		}
		w := workspace(t, r)
		warm(t, r, 2)
		m := os.Args[len(os.Args)-1]
		out := newReadyOutput()
		w.start(context.Background(), sallyport.SpawnOptions{Output: out}, "sh", "-c",
			"trap '' TERM HUP; setsid sleep "+m+" & echo begun; sleep "+m)
		out.wait(t)
		warm(t, r, 2)
		fmt.Println("ready")
		time.Sleep(patience)
		return
	}
	t.Parallel()
	// The signal comes when the thread ends that forked, not when the process does.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := mark(t)
	cmd := role(t, "runtime", &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}, m)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		rest, _ := io.ReadAll(out)
		t.Fatalf("the runtime said %q%s, %v", line, rest, err)
	}
	helpers := descendants(cmd.Process.Pid)
	if len(helpers) < 3 || len(marked(m)) < 3 {
		t.Fatalf("%d processes below the runtime, %q; want two helpers and a child", len(helpers), marked(m))
	}
	begun := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "children and helpers are gone", func() bool {
		for _, pid := range helpers {
			if alive(pid) {
				return false
			}
		}
		return len(marked(m)) == 0
	})
	// The next runtime may be in another group, where it would not see them.
	eventually(t, "control groups are gone", func() bool { return len(groupsMadeBy(cmd.Process.Pid)) == 0 })
	t.Logf("all gone after %v", time.Since(begun))
}

// descendants lists the children of a process.
func descendants(pid int) (list []int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, field := range strings.Fields(string(data)) {
			var child int
			fmt.Sscan(field, &child)
			list = append(list, child)
		}
	}
	return list
}

// alive reports whether a process runs; one that was not waited for yet
// does not.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// TestDeadLauncher kills the process that forks the helpers: at most one child
// is refused, and the next one gets another launcher.
func TestDeadLauncher(t *testing.T) {
	t.Parallel()
	r := open(t, &Options{Warm: -1})
	w := workspace(t, r)
	w.ok(nil, "true")
	w.ok(nil, "true") // the second helper is the launcher's
	l := r.platform.launcher
	l.mu.Lock()
	dead := l.proc.Pid
	err := l.proc.Kill()
	l.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the launcher is dead", func() bool { return !alive(dead) })
	if c, err := r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "true")); err == nil {
		w.wait(c)
	} else if !errors.Is(err, sallyport.ErrNotAvailable) {
		t.Errorf("Start with a dead launcher = %v, want not_available", err)
	}
	w.ok(nil, "true")
}

// TestFailedForkLeavesNoZombie has the launcher fork a helper that cannot be
// executed, which is this process's child all the same.
func TestFailedForkLeavesNoZombie(t *testing.T) {
	r := open(t, &Options{Warm: -1})
	w := workspace(t, r)
	w.ok(nil, "true")
	w.ok(nil, "true")
	before := len(descendants(os.Getpid()))
	r.platform.self = "/nonexistent/helper"
	for range 5 {
		if _, err := r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "true")); err == nil {
			t.Error("Start without a helper succeeded")
		}
	}
	if after := len(descendants(os.Getpid())); after > before {
		t.Errorf("%d children instead of %d", after, before)
	}
}
