package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// TestMissingHelper has the runner execute something that is not the helper
// in its place, after it has found the machine fit.
func TestMissingHelper(t *testing.T) {
	t.Parallel()
	for _, self := range []string{"/nonexistent/helper", "/bin/true", "/bin/false", "/etc/passwd", "/bin/sh"} {
		r := open(t, &Options{Warm: -1})
		w := workspace(t, r)
		w.ok(nil, "true")
		sound := r.platform.self
		r.platform.self = self
		m := mark(t)
		_, err := r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "sleep", m))
		if !errors.Is(err, sallyport.ErrNotAvailable) {
			t.Errorf("Start with %s for the helper = %v, want not_available", self, err)
		}
		if left := marked(m); len(left) > 0 {
			t.Errorf("with %s for the helper the child runs: %q", self, left)
		}
		r.platform.self = sound
		w.ok(nil, "true")
	}
}

// TestSilentHelper has a helper that never answers: yes, which ignores its
// control socket.
func TestSilentHelper(t *testing.T) {
	t.Parallel()
	r := open(t, &Options{Warm: -1})
	w := workspace(t, r)
	w.ok(nil, "true")
	r.platform.self = "/usr/bin/yes"
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Start(ctx, w.spawn(sallyport.SpawnOptions{}, "true")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Start = %v, want the deadline", err)
	}
}

// TestAttackIsHeldOnce: an attack that was held counts for later runners with the same
// settings, and for no others.
func TestAttackIsHeldOnce(t *testing.T) {
	t.Parallel()
	const late = time.Nanosecond // no attack ends by then
	scratch := t.TempDir()
	if rep := open(t, &Options{Warm: -1, Scratch: scratch}).Report(); rep.Level == "" {
		t.Skip(rep.Missing)
	}
	same := open(t, &Options{Warm: -1, Scratch: scratch})
	same.probeWait = late
	if rep := same.Report(); rep.Level == "" {
		t.Errorf("another runner: %s", rep.Missing)
	}
	for name, o := range map[string]*Options{
		"limits": {Scratch: scratch, Limits: Limits{Processes: 300}}, "layers": {Scratch: scratch, without: layerSeccomp}, "scratch": {Scratch: t.TempDir()},
		"toolchains": {Scratch: scratch, Toolchains: []Toolchain{{Dirs: []string{scratch}}}},
	} {
		o.Warm = -1
		other := open(t, o)
		other.probeWait = late
		if rep := other.Report(); rep.Level != "" {
			t.Errorf("other %s: the level %s was not attacked", name, rep.Level)
		}
	}
}

// TestLateProbeGivesNothingUp has the helper of the probe never answer: the
// machine is asked again, and children keep users of their own.
func TestLateProbeGivesNothingUp(t *testing.T) {
	t.Parallel()
	r := open(t, &Options{Warm: -1})
	r.platform.self, r.probeWait = "/usr/bin/yes", 50*time.Millisecond
	if rep := r.Report(); rep.Level != "" || !strings.Contains(rep.Missing, context.DeadlineExceeded.Error()) {
		t.Errorf("level %q, missing %q: want none, for the deadline", rep.Level, rep.Missing)
	}
	pool, why := r.platform.users.currentPool()
	if pool == nil && why == "" || strings.Contains(why, "deadline") {
		t.Errorf("children share a user since %q", why)
	}
	tries := 0
	late := fmt.Errorf("user namespaces: %w", context.DeadlineExceeded)
	if err := attackUntilAnswered(func() error { tries++; return late }); !errors.Is(err, late) || tries != attackTries {
		t.Errorf("of an attack that is always late: %v after %d tries", err, tries)
	}
	tries = 0
	if err := attackUntilAnswered(func() error {
		if tries++; tries == 1 {
			return late
		}
		return nil
	}); err != nil || tries != 2 {
		t.Errorf("of an attack that is late once: %v after %d tries", err, tries)
	}
	broken := errors.New("seccomp")
	tries = 0
	if err := attackUntilAnswered(func() error { tries++; return broken }); err != broken || tries != 1 {
		t.Errorf("of an attack that was answered: %v after %d tries", err, tries)
	}
}

// TestDeadHelper kills a warm helper before a child becomes of it: that child
// is refused, the next one gets another.
func TestDeadHelper(t *testing.T) {
	t.Parallel()
	r := open(t, &Options{Warm: 1})
	w := workspace(t, r)
	w.ok(nil, "true")
	warm(t, r, 1)
	p := r.platform.pool
	p.mu.Lock()
	h := p.idle[0]
	p.mu.Unlock()
	if err := h.proc.Kill(); err != nil {
		t.Fatal(err)
	}
	// Its end of the control socket closes when it is gone.
	eventually(t, "the helper is gone", func() bool {
		fds := []unix.PollFd{{Fd: controlFD(t, h), Events: unix.POLLIN}}
		n, _ := unix.Poll(fds, 0)
		return n == 1 && fds[0].Revents&unix.POLLHUP != 0
	})
	child, err := r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "true"))
	if err == nil {
		w.wait(child)
	} else if !errors.Is(err, sallyport.ErrNotAvailable) {
		t.Errorf("Start with a dead helper = %v, want not_available", err)
	}
	w.ok(nil, "true")
}

func controlFD(t *testing.T, h *readyHelper) (fd int32) {
	t.Helper()
	raw, err := h.control.SyscallConn()
	if err == nil {
		err = raw.Control(func(p uintptr) { fd = int32(p) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// warm waits until n helpers are warm.
func warm(t testing.TB, r *Runner, n int) {
	t.Helper()
	p := r.platform.pool
	p.refill()
	eventually(t, "helpers are warm", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.idle) >= n
	})
}

// TestCutSpecification sends a helper less than its header says.
func TestCutSpecification(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	// Children that share the user of the gate share its message as well.
	r := open(t, &Options{Warm: -1, without: layerUsers})
	w := workspace(t, r)
	w.ok(nil, "true")
	spec := helper.Spec{Path: "/bin/sleep", Argv: []string{"sleep", "1000"}, Dir: "/"}
	for _, c := range []struct {
		name string
		bend func(m *helperMessage) error
		want string
	}{
		{"cut", func(m *helperMessage) error { return m.body.Truncate(20) }, "cut or changed"},
		{"empty", func(m *helperMessage) error { return m.body.Truncate(0) }, "cut or changed"},
		{"longer", func(m *helperMessage) error { _, err := m.body.Write([]byte(" ")); return err }, "cut or changed"},
		{"changed", func(m *helperMessage) error { _, err := m.body.WriteAt([]byte("x"), 10); return err }, "cut or changed"},
		{"huge", func(m *helperMessage) error { return m.body.Truncate(1 << 40) }, "too long"},
		{"kind", func(m *helperMessage) error { m.header[0] = helper.MsgBase; return nil }, "not the expected"},
	} {
		h, err := r.newReadyHelper(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := newMessage(helper.MsgRun, &spec)
		if err == nil {
			err = c.bend(&m)
		}
		if err != nil {
			t.Fatal(err)
		}
		null := r.platform.null
		if err := m.send(h.control, null, null, null); err != nil {
			t.Fatal(err)
		}
		kind, text, _, err := h.receiveMessage()
		if err != nil || kind != helper.MsgFailed || !strings.Contains(text, c.want) {
			t.Errorf("%s: the helper answered %q %q, %v, want %q", c.name, string(kind), text, err, c.want)
		}
		if state, err := h.proc.Wait(); err != nil || state.ExitCode() != helper.ExitCode {
			t.Errorf("%s: the helper ended with %v, %v, want %d", c.name, state, err, helper.ExitCode)
		}
		m.body.Close()
		h.close()
		h.onEnd()
	}
	// The same on the way that a child takes. The base is made anew when files of the
	// system change, which other tests may do.
	var err error
	for range 3 {
		if err := r.platform.base.shared.body.Truncate(100); err != nil {
			t.Fatal(err)
		}
		if _, err = r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "true")); err != nil {
			break
		}
	}
	if e, ok := errors.AsType[*sallyport.Error](err); !ok || e.Code != sallyport.CodeNotAvailable ||
		!strings.Contains(fmt.Sprint(e.Err), "cut or changed") {
		t.Errorf("Start with a cut base = %v, want not_available because it was cut", err)
	}
}

// TestMissingDescriptors sends a specification without its streams.
func TestMissingDescriptors(t *testing.T) {
	t.Parallel()
	r := open(t, &Options{Warm: -1})
	h, err := r.newReadyHelper(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer h.discard()
	m, err := newMessage(helper.MsgRun, &helper.Spec{Path: "/bin/true", Argv: []string{"true"}, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.body.Close()
	if err := m.send(h.control, r.platform.null); err != nil {
		t.Fatal(err)
	}
	if kind, text, _, err := h.receiveMessage(); err != nil || kind != helper.MsgFailed || !strings.Contains(text, "descriptors") {
		t.Errorf("the helper answered %q %q, %v", string(kind), text, err)
	}
}

func TestFullTmp(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Limits: Limits{TmpBytes: 1 << 20}}))
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "head -c 4194304 /dev/zero >/tmp/x; echo $?; stat -c %s /tmp/x")
	if !strings.Contains(string(res.Stderr), "No space left on device") || strings.HasPrefix(string(res.Stdout), "0\n") {
		t.Errorf("4 MiB into a /tmp of 1 MiB = %q, stderr %q, want no space", res.Stdout, res.Stderr)
	}
	res = w.run(sallyport.SpawnOptions{}, "sh", "-c", "for i in $(seq 400); do : >/tmp/$i || exit 9; done")
	if !strings.Contains(string(res.Stderr), "No space left on device") {
		t.Errorf("400 files in a /tmp of 1 MiB = exit %d, %q, want no space", res.ExitCode, res.Stderr)
	}
	w.sh("echo x >/tmp/x") // the next child has its own
}

func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Limits: Limits{FileBytes: 1 << 20, OpenFiles: 32}}))
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "head -c 4194304 /dev/zero >big; stat -c %s big; ulimit -n; ulimit -c")
	if got := string(res.Stdout); got != "1048576\n32\n0\n" {
		t.Errorf("limits of a file, descriptors and cores = %q", got)
	}
}

// TestStartAndCloseTogether starts children while the runner is closed: each
// start fails or gives a child that ends.
func TestStartAndCloseTogether(t *testing.T) {
	t.Parallel()
	for range 8 {
		r := open(t, &Options{Warm: 1})
		w := workspace(t, r)
		m := mark(t)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				c, err := r.Start(context.Background(), w.spawn(sallyport.SpawnOptions{}, "sleep", m))
				if err != nil {
					return
				}
				<-c.Done()
			})
		}
		wg.Go(func() { r.Close() })
		wg.Go(func() { r.Close() })
		wg.Wait()
		if left := marked(m); len(left) > 0 {
			t.Errorf("left running: %q", left)
		}
	}
}

// TestNoUserNamespaces runs the runtime in a user namespace that permits no
// others, as a container or a hardened machine does.
func TestNoUserNamespaces(t *testing.T) {
	if os.Getenv(roleVar) == "runtime" {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := open(t, nil)
		rep := r.Report()
		if rep.Level != "" || !strings.Contains(rep.Missing, "user namespace") {
			t.Errorf("Report = %+v, want no level and user namespaces named", rep)
		}
		w := workspace(t, r)
		m := mark(t)
		if _, err := r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "sleep", m)); !errors.Is(err, sallyport.ErrNotAvailable) ||
			!strings.Contains(err.Error(), "user namespace") {
			t.Errorf("Start = %v, want not_available with the layer", err)
		}
		if left := marked(m); len(left) > 0 {
			t.Errorf("the child runs: %q", left)
		}
		// What the operator names does not need them.
		w.r = open(t, &Options{Level: sallyport.LevelNone})
		if res := w.run(sallyport.SpawnOptions{}, "true"); res.ExitCode != 0 || res.Level != sallyport.LevelNone {
			t.Errorf("at the level none: exit %d, level %s", res.ExitCode, res.Level)
		}
		return
	}
	t.Parallel()
	cmd := role(t, "runtime", &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
	if out, err := cmd.Output(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
