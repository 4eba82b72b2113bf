package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// jobVar makes the test binary a runtime process that carries out one job;
// faultVar says that its fault is in place, againVar that root ran the same
// tests before.
const (
	jobVar   = "SALLYPORT_TEST_JOB"
	faultVar = "SALLYPORT_TEST_FAULTY"
	againVar = "SALLYPORT_TEST_AGAIN"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(jobVar); path != "" {
		if err := runtimeProcess(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if url := os.Getenv(fetchVar); url != "" {
		if err := fetchAsChild(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// vectorJob is a case for a runtime process. The outcome goes to the file Path with
// the ending ".out".
type vectorJob struct {
	Case  *processCase
	Stage stage
}

// runtimeProcess is a runtime with the state of the host that a case asks for.
func runtimeProcess(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var j vectorJob
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	if f := faultOf(j.Case); f != "" && os.Getenv(faultVar) == "" {
		runtime.LockOSThread()
		if err := faults[f](); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		// Every thread of the next program has the fault of this one.
		return syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), faultVar+"=1"))
	}
	var o outcome
	if j.Case.Check.Leaks != nil {
		o, err = runMany(&j)
	} else {
		o, err = runOnce(&j)
	}
	if err != nil {
		return err
	}
	if data, err = json.Marshal(&o); err != nil {
		return err
	}
	return os.WriteFile(path+".out", data, 0o600)
}

func runOnce(j *vectorJob) (outcome, error) {
	h, err := openHost(Options{Limits: testLimits})
	if err != nil {
		return outcome{}, err
	}
	defer h.close()
	if j.Case.HostTTY {
		if err := rawTerminal(); err != nil {
			return outcome{}, err
		}
	}
	o := h.run(j.Case, j.Stage)
	if j.Case.HostTTY {
		if o.TTY, err = unix.IoctlGetInt(0, unix.TIOCINQ); err != nil {
			return outcome{}, err
		}
	}
	return o, nil
}

// rawTerminal makes single characters count as input.
func rawTerminal() error {
	tio, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return err
	}
	tio.Lflag &^= unix.ICANON | unix.ECHO
	return unix.IoctlSetTermios(0, unix.TCSETS, tio)
}

// runMany starts a child many times and looks for what is left.
func runMany(j *vectorJob) (o outcome, err error) {
	round := func(times int) error {
		h, err := openHost(Options{Limits: testLimits})
		if err != nil {
			return err
		}
		defer h.close()
		var wg sync.WaitGroup
		var mu sync.Mutex
		for w := range 4 {
			wg.Go(func() {
				for i := w; i < times; i += 4 {
					one := h.run(j.Case, j.Stage)
					mu.Lock()
					if o.Err == "" {
						o = one
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		return nil
	}
	// What is made once and kept, such as the poller's descriptors, is no leak.
	if err := round(4); err != nil {
		return o, err
	}
	before, times := holdings(), j.Case.Check.Repeat
	if os.Getenv(againVar) != "" || !needs.Long() {
		times /= 10 // root has them all when it may be long
	}
	if err := round(times); err != nil {
		return o, err
	}
	for range 100 {
		o.Leaks = nil
		for name, n := range holdings() {
			if n > before[name] {
				o.Leaks = append(o.Leaks, fmt.Sprintf("%s: %d, before %d", name, n, before[name]))
			}
		}
		if o.Leaks == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return o, nil
}

// holdings counts what a child could leave with this process.
func holdings() map[string]int {
	n := map[string]int{"goroutines": runtime.NumGoroutine()}
	count := func(name, pattern string) {
		found, _ := filepath.Glob(pattern)
		n[name] += len(found)
	}
	count("descriptors", "/proc/self/fd/*")
	count("temporary files", filepath.Join(os.TempDir(), "*"))
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, path := range tasks {
		data, _ := os.ReadFile(path)
		n["children"] += len(strings.Fields(string(data)))
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	n["mounts"] = strings.Count(string(mounts), "\n")
	mine := fmt.Sprint(os.Getpid())
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(d.Name(), mine) {
			n["cgroups"]++
		}
		return nil
	})
	return n
}

// runElsewhere carries out a case in a runtime process of its own.
func runElsewhere(t *testing.T, c *processCase, st stage) (o outcome) {
	t.Helper()
	data, err := json.Marshal(vectorJob{c, st})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(st.Root, "tmp", "job")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(st.Root, "runtime")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), jobVar+"="+path, "TMPDIR="+tmp)
	for name, value := range c.HostEnv {
		cmd.Env = append(cmd.Env, name+"="+st.expand(value))
	}
	if c.HostTTY {
		withTerminal(t, cmd)
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if c.KillAfter > 0 {
		killWhenRunning(t, c, cmd)
		return outcome{Died: true}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the runtime process: %v\n%s", err, out.String())
	}
	if data, err = os.ReadFile(path + ".out"); err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// killWhenRunning kills a runtime once its child runs.
func killWhenRunning(t *testing.T, c *processCase, cmd *exec.Cmd) {
	t.Helper()
	odd := sleepNumber.FindString(strings.Join(c.Args, " "))
	for i := 0; len(sleeping(odd)) == 0; i++ {
		if i == 1000 {
			t.Error("the child never ran")
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// withTerminal gives a runtime a controlling terminal on standard input.
func withTerminal(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	cmd.Stdin = slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
}

// nobody is who runs the tests a second time.
const nobody = 65534

// asNobody runs tests of this binary as an ordinary user.
func asNobody(t *testing.T, tests string, env ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("the tests run as an ordinary user already")
	}
	if needs.Race && !needs.Long() {
		t.Skip("the race detector has seen these tests as root; without it an ordinary user runs them")
	}
	// The folder in which the binary was built is for its builder alone.
	dir, err := os.MkdirTemp("/var/tmp", "sallyport-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile("/proc/self/exe", dir+"/sandbox.test")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), dir+"/sandbox.test", "-test.run="+tests, "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), append(env, againVar+"=1", "HOME=/nonexistent", "TMPDIR=/var/tmp")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: ") {
		t.Errorf("as uid %d: %v\n%s", nobody, err, failures(string(out)))
	}
	t.Logf("as uid %d: %d passed, %d skipped", nobody, strings.Count(string(out), "--- PASS: "), strings.Count(string(out), "--- SKIP: "))
}

// failures leaves out what passed.
func failures(out string) string {
	var keep []string
	for line := range strings.Lines(out) {
		if s := strings.TrimSpace(line); !strings.HasPrefix(s, "===") && !strings.HasPrefix(s, "--- PASS") && !strings.HasPrefix(s, "--- SKIP") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	// A process that is forked now would hold the file open for writing, so that
	// it could not be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// A specification that was cut on its way starts nothing.
func TestACutSpecificationRunsNothing(t *testing.T) {
	t.Parallel()
	r, err := New(asAsked(&Options{Warm: -1}))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, keep := range []float64{0, 0.5, 0.99} {
		h, err := r.newReadyHelper(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { h.close(); h.onEnd() }()
		m, err := newMessage(helper.MsgRun, &helper.Spec{Path: "/usr/bin/true", Argv: []string{"true"}, Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		defer m.body.Close()
		info, err := m.body.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if err := m.body.Truncate(int64(keep * float64(info.Size()))); err != nil {
			t.Fatal(err)
		}
		null := r.platform.null
		if err := m.send(h.control, null, null, null); err != nil {
			t.Fatal(err)
		}
		kind, text, _, err := h.receiveMessage()
		if kind != helper.MsgFailed || err != nil || !strings.Contains(text, "cut or changed") {
			t.Errorf("cut to %v of it: the helper answered %q %q, %v, want a failure", keep, string(kind), text, err)
		}
		state, err := h.proc.Wait()
		if err != nil || state.ExitCode() != helper.ExitCode {
			t.Errorf("cut to %v of it: the helper ended with %v, %v, want exit status %d", keep, state, err, helper.ExitCode)
		}
	}
}
