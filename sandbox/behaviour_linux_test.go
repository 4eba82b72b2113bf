package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

func TestWorkingDirectory(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	if err := os.MkdirAll(filepath.Join(w.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(w.dir, "out")); err != nil {
		t.Fatal(err)
	}
	w.write("file", "")
	for _, c := range []struct {
		dir, want string
		err       error
	}{
		{dir: "", want: w.dir},
		{dir: "sub", want: w.dir + "/sub"},
		{dir: w.dir + "/sub/..", want: w.dir},
		{dir: "/etc", err: sallyport.ErrPathNotReachable},
		{dir: "..", err: sallyport.ErrPathNotReachable},
		{dir: "out", err: sallyport.ErrPathNotReachable},
		{dir: "missing", err: os.ErrNotExist},
		{dir: "file", err: sallyport.ErrInputInvalid},
		{dir: "a\x00b", err: sallyport.ErrInputInvalid},
	} {
		child, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{Dir: c.dir}, "pwd"))
		if !errors.Is(err, c.err) {
			t.Errorf("Start in %q = %v, want %v", c.dir, err, c.err)
		}
		if err != nil {
			continue
		}
		if got := strings.TrimSpace(string(w.wait(child).Stdout)); got != c.want {
			t.Errorf("Start in %q: pwd = %q, want %q", c.dir, got, c.want)
		}
	}
	w.grant.FS = sallyport.FSGrant{}
	if got := w.sh("pwd; echo x >y && cat y"); got != homeDir+"\nx\n" {
		t.Errorf("without reach: pwd = %q, want a private directory that may be written", got)
	}
}

func TestEnvironment(t *testing.T) {
	// Not parallel: it sets a variable of the runtime, which must not show.
	t.Setenv("SALLYPORT_TEST_SECRET", "of the runtime")
	w := workspace(t, open(t, nil))
	got := w.ok(map[string]string{"ASKED": "yes", "HTTP_PROXY": "http://elsewhere"}, "env")
	for _, want := range []string{"ASKED=yes", "HOME=/tmp/home", "TMPDIR=/tmp", "USER=agent", "LANG=C.UTF-8"} {
		if !strings.Contains("\n"+got, "\n"+want+"\n") {
			t.Errorf("env lacks %s:\n%s", want, got)
		}
	}
	if strings.Contains(got, "SALLYPORT") {
		t.Errorf("env shows the runtime's variable:\n%s", got)
	}
}

func TestStandardInput(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB, far beyond a pipe
	for _, c := range []struct {
		name, script string
		stdin        []byte
		want         string
	}{
		{"closed", "cat | wc -c", nil, "0\n"},
		{"empty", "cat | wc -c", []byte{}, "0\n"},
		{"given", "cat", []byte("hello"), "hello"},
		{"large", "wc -c", large, fmt.Sprintln(len(large))},
		{"not read", "echo done", large, "done\n"},
		{"read in part", "head -c 4", large, "0123"},
	} {
		res := w.run(sallyport.SpawnOptions{Stdin: c.stdin}, "sh", "-c", c.script)
		if got := string(res.Stdout); got != c.want || res.ExitCode != 0 {
			t.Errorf("%s: exit %d, %q, want %q", c.name, res.ExitCode, got, c.want)
		}
	}
}

// writer is an Output that fails after some bytes.
type writer struct {
	bytes.Buffer
	max int
}

func (w *writer) Write(p []byte) (int, error) {
	if w.max > 0 && w.Len()+len(p) > w.max {
		return 0, errors.New("full")
	}
	return w.Buffer.Write(p)
}

func TestCombinedOutputKeepsItsOrder(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	out := &writer{}
	res := w.run(sallyport.SpawnOptions{Output: out}, "sh", "-c", "for i in $(seq 200); do echo o$i; echo e$i >&2; done")
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "o%d\ne%d\n", i+1, i+1)
	}
	if diff := cmp.Diff(want.String(), out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if len(res.Stdout)+len(res.Stderr) > 0 || res.Dropped != 0 {
		t.Errorf("the result holds %d and %d bytes, %d dropped, beside Output", len(res.Stdout), len(res.Stderr), res.Dropped)
	}
	out = &writer{max: 1}
	if res := w.run(sallyport.SpawnOptions{Output: out}, "echo", "too much"); res.Dropped != 9 {
		t.Errorf("a failed Output: %d bytes dropped, want 9", res.Dropped)
	}
}

// TestOutputIsBounded is not parallel: it counts what the process allocates.
func TestOutputIsBounded(t *testing.T) {
	w := workspace(t, open(t, nil))
	sent := int64(needs.Count(256<<20, 3<<30))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := w.run(sallyport.SpawnOptions{}, "head", "-c", fmt.Sprint(sent), "/dev/zero")
	runtime.ReadMemStats(&after)
	if len(res.Stdout) != defaultOutput || res.Dropped != sent-defaultOutput {
		t.Errorf("%d bytes kept, %d dropped, want %d and %d", len(res.Stdout), res.Dropped, defaultOutput, sent-defaultOutput)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
		t.Errorf("%d MiB allocated for %d MiB of output", used>>20, sent>>20)
	}
	res = w.run(sallyport.SpawnOptions{MaxOutput: 5}, "sh", "-c", "echo 0123456789; echo abcdefghij >&2")
	if string(res.Stdout) != "01234" || string(res.Stderr) != "abcde" || res.Dropped != 12 {
		t.Errorf("with MaxOutput 5: %q, %q, %d dropped", res.Stdout, res.Stderr, res.Dropped)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	for _, c := range []struct {
		script string
		want   int
	}{
		{"exit 0", 0},
		{"exit 7", 7},
		{"exit 255", 255},
		{"/nowhere", 127},
		{"sh -c 'kill -9 $$'; exit $?", 128 + 9},
		{"sh -c 'kill -15 $$'; exit $?", 128 + 15},
	} {
		if res := w.run(sallyport.SpawnOptions{}, "sh", "-c", c.script); res.ExitCode != c.want || res.TimedOut {
			t.Errorf("%s = %d, timed out %v, want %d", c.script, res.ExitCode, res.TimedOut, c.want)
		}
	}
	installed(t, "python3")
	fault := "import ctypes; ctypes.string_at(0)"
	if res := w.run(sallyport.SpawnOptions{}, "python3", "-c", fault); res.ExitCode != 128+11 {
		t.Errorf("a segmentation fault of the first process = %d, want 139", res.ExitCode)
	}
}

func TestBinaries(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	own := w.write("own", "#!/bin/sh\n")
	if err := os.Chmod(own, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, binary string
		want         error
	}{
		{"in the write reach", own, sallyport.ErrBinaryNotAllowed},
		{"setuid", "/usr/bin/passwd", sallyport.ErrBinaryNotAllowed},
		{"a path", "./own", os.ErrNotExist},
		{"unknown", "no-such-program", os.ErrNotExist},
		{"empty", "", os.ErrNotExist},
		{"a directory", "/usr", sallyport.ErrBinaryNotAllowed},
	} {
		if _, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, c.binary)); !errors.Is(err, c.want) {
			t.Errorf("%s: Start = %v, want %v", c.name, err, c.want)
		}
	}
}

// mark is an argument by which the processes of a test are found.
func mark(t *testing.T) string {
	return fmt.Sprintf("%d.%d", 100000+os.Getpid(), time.Now().UnixNano())
}

// marked lists the processes of this machine that carry a mark.
func marked(m string) []string {
	var list []string
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range dirs {
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(m)) {
			list = append(list, path+" "+strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	return list
}

// eventually waits for something that happens on its own.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// readyOutput is an Output that says when the child has spoken.
type readyOutput struct {
	ch   chan struct{}
	text bytes.Buffer
}

func newReadyOutput() *readyOutput { return &readyOutput{ch: make(chan struct{})} }

func (s *readyOutput) Write(p []byte) (int, error) {
	if s.text.Len() == 0 {
		defer close(s.ch)
	}
	return s.text.Write(p)
}

func (s *readyOutput) wait(t testing.TB) {
	t.Helper()
	select {
	case <-s.ch:
	case <-time.After(patience):
		t.Fatal("the child said nothing")
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	for _, c := range []struct {
		name, script string
		code         int
		out          string
	}{
		{"not handled", "echo begun; exec sleep %s", 128 + 9, "begun\n"},
		{"handled", "trap 'echo bye; exit 3' TERM; echo begun; sleep %s & wait", 3, "begun\nbye\n"},
		{"ignored", "trap '' TERM; echo begun; sleep %s", 128 + 9, "begun\n"},
		{"handled without an end", "trap 'echo no' TERM; echo begun; sleep %[1]s & wait; wait; sleep %[1]s", 128 + 9, "begun\nno\n"},
	} {
		m := mark(t)
		res := w.run(sallyport.SpawnOptions{Timeout: 300 * time.Millisecond}, "sh", "-c", fmt.Sprintf(c.script, m))
		if !res.TimedOut || res.ExitCode != c.code || string(res.Stdout) != c.out {
			t.Errorf("%s: timed out %v, exit %d, %q, want true, %d, %q", c.name, res.TimedOut, res.ExitCode, res.Stdout, c.code, c.out)
		}
		if left := marked(m); len(left) > 0 {
			t.Errorf("%s: left running: %q", c.name, left)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	m, out := mark(t), newReadyOutput()
	ctx, cancel := context.WithCancel(t.Context())
	c := w.start(ctx, sallyport.SpawnOptions{Output: out}, "sh", "-c", "(setsid sleep "+m+" &) ; echo begun; sleep "+m)
	out.wait(t)
	cancel()
	<-c.Done()
	res, err := c.Wait()
	if !errors.Is(err, context.Canceled) || res.ExitCode != 128+9 || res.TimedOut {
		t.Errorf("Wait after cancel = %+v, %v, want context.Canceled and 137", res, err)
	}
	if left := marked(m); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
	if _, err := w.r.Start(ctx, w.spawn(sallyport.SpawnOptions{}, "true")); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with a cancelled context = %v, want context.Canceled", err)
	}
}

// TestNothingIsLeftBehind lets the first process end while others hold its
// output or have hidden in sessions of their own.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	for _, c := range []struct{ name, script string }{
		{"holds the pipe", "sleep %s & echo end"},
		{"session of its own", "setsid sleep %s >/dev/null 2>&1 </dev/null & echo end"},
		{"daemon", "(setsid sh -c 'trap \"\" HUP TERM INT; sleep %s; sleep 1' >/dev/null 2>&1 &) ; echo end"},
		{"stopped", "sleep %s & kill -STOP $!; echo end"},
	} {
		m := mark(t)
		res := w.run(sallyport.SpawnOptions{}, "sh", "-c", fmt.Sprintf(c.script, m))
		if string(res.Stdout) != "end\n" || res.ExitCode != 0 {
			t.Errorf("%s: exit %d, %q", c.name, res.ExitCode, res.Stdout)
		}
		if left := marked(m); len(left) > 0 {
			t.Errorf("%s: left running: %q", c.name, left)
		}
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	for _, c := range []struct {
		name, script string
		grace        time.Duration
		code         int
	}{
		{"asked", "trap 'exit 4' TERM; echo begun; sleep %s & wait", patience, 4},
		{"without grace", "trap 'exit 4' TERM; echo begun; sleep %s & wait", 0, 128 + 9},
		{"deaf", "trap '' TERM; echo begun; sleep %s", patience, 128 + 9},
		{"busy", "trap : TERM; echo begun; while :; do sleep 0.01; done; sleep %s", 50 * time.Millisecond, 128 + 9},
	} {
		out, m := newReadyOutput(), mark(t)
		child := w.start(t.Context(), sallyport.SpawnOptions{Output: out}, "sh", "-c", fmt.Sprintf(c.script, m))
		out.wait(t)
		child.Stop(c.grace)
		res, err := child.Wait()
		if err != nil || res.ExitCode != c.code || res.TimedOut {
			t.Errorf("%s: Stop: exit %d, %v, want %d and no error", c.name, res.ExitCode, err, c.code)
		}
		child.Stop(0) // again, which does nothing
		if left := marked(m); len(left) > 0 {
			t.Errorf("%s: left running: %q", c.name, left)
		}
	}
	child := w.start(t.Context(), sallyport.SpawnOptions{}, "true")
	res := w.wait(child)
	child.Stop(time.Second)
	if again, err := child.Wait(); err != nil || again.ExitCode != res.ExitCode {
		t.Errorf("Stop after the end changed the result: %+v, %v", again, err)
	}
}

func TestCloseEndsChildren(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	m, out := mark(t), newReadyOutput()
	c := w.start(context.Background(), sallyport.SpawnOptions{Output: out}, "sh", "-c", "trap '' TERM; echo begun; sleep "+m)
	out.wait(t)
	if err := w.r.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	select {
	case <-c.Done():
	default:
		t.Error("Close returned before its child was gone")
	}
	if _, err := c.Wait(); err == nil {
		t.Error("a child that Close ended has no error")
	}
	if left := marked(m); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
	if _, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "true")); !errors.Is(err, sallyport.ErrNotAvailable) {
		t.Errorf("Start after Close = %v, want not_available", err)
	}
	if err := w.r.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
}

func TestTouchedBinaries(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "env true; cat /dev/null; env true")
	var want []string
	for _, name := range []string{"sh", "env", "true", "cat"} {
		p, err := w.r.resolveProgram(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, p.path)
	}
	if diff := cmp.Diff(want, res.Touched.Binaries); diff != "" {
		t.Errorf("Touched.Binaries (-want +got):\n%s", diff)
	}
}
