package hostuser

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startAs starts a program as a user and returns it with a reader of its output. It is
// waited for when the test ends, and not before.
func startAs(t *testing.T, id int, name string, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

// awaitEnded waits until the first thread of a process has ended, although nothing waited
// for it.
func awaitEnded(t *testing.T, pid int) {
	t.Helper()
	for range 3000 {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(status, []byte("State:\tZ")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("process %d has not ended", pid)
}

// A gate was killed, its children have ended, and nothing waits for them: their users are
// free again.
func TestAUserWhoseProcessesHaveEndedIsFree(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("needs python3 where every user may execute it")
	}
	const first, count = base + 300, 4
	for i := range count - 1 {
		cmd, _ := startAs(t, first+i, "true")
		awaitEnded(t, cmd.Process.Pid)
	}
	// The last one has ended its first thread, and goes on in another.
	goesOn, out := startAs(t, first+count-1, "/usr/bin/python3", "-c",
		"import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\nprint('on', flush=True)\nctypes.CDLL(None).pthread_exit(None)")
	if line, err := out.ReadString('\n'); err != nil || strings.TrimSpace(line) != "on" {
		t.Fatalf("the last process said %q, %v", line, err)
	}
	awaitEnded(t, goesOn.Process.Pid)
	for i := range count {
		if !hasProcess(first + i) {
			t.Fatalf("the process of user %d is gone, so that this tests nothing", first+i)
		}
	}
	p := openAt(t, poolPlace{first: first, count: count, locks: filepath.Join(t.TempDir(), "uids"), accounts: t.TempDir()})
	for i := range count - 1 {
		if u := acquire(t, p); u.ID != first+i {
			t.Errorf("Acquire() = %d, want %d, whose process has ended", u.ID, first+i)
		}
	}
	if u, err := p.Acquire(); !errors.Is(err, ErrNone) {
		t.Errorf("Acquire() = %v, %v, want ErrNone: the process of the last user goes on", u, err)
	}
}

// Where the table of processes is not this process's own, what has a process is in use.
func TestAnotherTableFreesNoUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("1", filepath.Join(dir, "self")); err != nil {
		t.Fatal(err)
	}
	task := filepath.Join(dir, "7", "task", "7")
	if err := os.MkdirAll(task, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(task, "status"), "Name:\tx\nState:\tZ (zombie)\nUid:\t5\t5\t5\t5\n")
	// Another process has a second thread, which may be about to make a third one.
	for _, thread := range []string{"8", "9"} {
		task := filepath.Join(dir, "8", "task", thread)
		if err := os.MkdirAll(task, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(task, "status"), "Name:\tx\nState:\tZ (zombie)\nUid:\t6\t6\t6\t6\n")
	}
	var u endedUsers
	u.readTable(dir)
	if u.has(5) {
		t.Error("a user of another table is free")
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "self")), os.Symlink(fmt.Sprint(os.Getpid()), filepath.Join(dir, "self"))); err != nil {
		t.Fatal(err)
	}
	u.readTable(dir)
	if !u.has(5) || u.has(6) {
		t.Errorf("has = %v and %v for one whose process has ended and one whose process has another thread", u.has(5), u.has(6))
	}
}
