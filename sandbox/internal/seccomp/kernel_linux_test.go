package seccomp

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandbox/internal/seccomp/install"
)

// native returns the numbers of this machine.
func native() map[string]uintptr {
	byName := map[string]uintptr{}
	for _, n := range numbers {
		if nr := machines[runtime.GOARCH].number(n); nr != absent {
			byName[n.name] = uintptr(nr)
		}
	}
	return byName
}

// answers runs calls in a filtered child and returns what they printed.
func answers(t *testing.T, s childSpec) []string {
	t.Helper()
	out, err := command(t, s).CombinedOutput()
	if err != nil {
		t.Fatalf("the child failed: %v\n%s", err, out)
	}
	return strings.Fields(string(out))
}

// The kernel gives the answers of the model. The arguments of calls that must
// be refused whatever they are would make each of them fail with another
// error, so that a missing rule is seen and nothing happens.
func TestKernelRefuses(t *testing.T) {
	t.Parallel()
	nrs := native()
	var s childSpec
	var names, want []string
	add := func(name, answer string, args [6]uintptr) {
		if nr, ok := nrs[name]; ok {
			s.Calls = append(s.Calls, rawCall{nr, args})
			names = append(names, name)
			want = append(want, name+": "+answer)
		}
	}
	s.Options = full
	const bad = ^uintptr(0)
	for answer, calls := range refused {
		for _, name := range strings.Fields(calls) {
			// vhangup has no arguments that could be wrong.
			if name != "vhangup" {
				add(name, answer, [6]uintptr{bad, bad, bad, bad, bad, bad})
			}
		}
	}
	for _, tt := range argumentCases {
		if tt.o == full && tt.want != "allow" {
			var args [6]uintptr
			for i, v := range tt.args {
				args[i] = uintptr(v)
			}
			add(tt.call, tt.want, args)
		}
	}
	got := answers(t, s)
	for i := range got {
		if i < len(names) {
			got[i] = names[i] + ": " + got[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers of the kernel (-want +got):\n%s", diff)
	}
}

func TestKernelAllows(t *testing.T) {
	t.Parallel()
	nrs := native()
	buffer := uintptr(0)
	tests := []struct {
		call string
		o    Options
		args [6]uintptr
		want string
	}{
		{"getpid", Options{}, [6]uintptr{}, "ok"},
		{"socket", full, [6]uintptr{2, 1, 0}, "ok"},
		{"socket", full, [6]uintptr{2, 1 | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 6}, "ok"},
		{"socket", full, [6]uintptr{2, 2, 17}, "ok"},
		{"socket", Options{}, [6]uintptr{2, 1, 0}, "EPERM"},
		{"shmget", full, [6]uintptr{0, 0, 0}, "EINVAL"},
		{"shmget", Options{}, [6]uintptr{0, 0, 0}, "ENOSYS"},
		{"prlimit64", Options{}, [6]uintptr{}, "ok"},
		{"sched_setaffinity", Options{}, [6]uintptr{}, "EINVAL"},
		{"prctl", full, [6]uintptr{unix.PR_SET_PDEATHSIG, 9}, "ok"},
		{"openat", full, [6]uintptr{0, buffer, unix.O_RDONLY, 0o6000}, "EFAULT"},
		{"openat", full, [6]uintptr{0, buffer, unix.O_CREAT, 0o666}, "EFAULT"},
		{"personality", full, [6]uintptr{0xffffffff}, "ok"},
		{"prctl", full, [6]uintptr{unix.PR_GET_NO_NEW_PRIVS}, "ok"},
		{"prctl", full, [6]uintptr{unix.PR_SET_SECCOMP, 2, buffer}, "EFAULT"},
		{"seccomp", full, [6]uintptr{1, 0, buffer}, "EFAULT"},
		{"sendto", full, [6]uintptr{^uintptr(0), 0, 0, 0, 0, 0}, "EBADF"},
		{"mknodat", full, [6]uintptr{0, 0, unix.S_IFIFO}, "EFAULT"},
		{"execve", full, [6]uintptr{}, "EFAULT"},
		// No listener reads these notifications.
		{"execve", Options{Notify: true}, [6]uintptr{}, "ENOSYS"},
	}
	for _, tt := range tests {
		t.Run(tt.call+" "+tt.want, func(t *testing.T) {
			t.Parallel()
			got := answers(t, childSpec{Options: tt.o, Calls: []rawCall{{nrs[tt.call], tt.args}}})
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Errorf("%s%#x (-want +got):\n%s", tt.call, tt.args, diff)
			}
		})
	}
}

// A datagram socket reaches any path, even as one of a pair. That is why the
// filter has a rule for socketpair.
func TestDatagramPairReachesPaths(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	server, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(server)
	if err := unix.Bind(server, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		kind int
		err  error
	}{
		"datagram": {unix.SOCK_DGRAM, nil},
		"raw":      {unix.SOCK_RAW, nil},
		// These stay with their peer, so they are allowed.
		"stream":    {unix.SOCK_STREAM, unix.EISCONN},
		"seqpacket": {unix.SOCK_SEQPACKET, unix.EISCONN},
	} {
		pair, err := unix.Socketpair(unix.AF_UNIX, want.kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		err = unix.Connect(pair[0], &unix.SockaddrUnix{Name: path})
		if want.err == nil && err != nil || want.err != nil && err == nil {
			t.Errorf("%s: connect to a path = %v, want %v", name, err, want.err)
		}
		unix.Close(pair[0])
		unix.Close(pair[1])
	}
}

// wantKilled runs a probe that must end in SIGSYS.
func wantKilled(t *testing.T, probe string) {
	t.Helper()
	out, err := command(t, childSpec{Options: full, Probes: []string{probe}}).CombinedOutput()
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) {
		t.Fatalf("%s: %v, want the end of the process; it printed %s", probe, err, out)
	}
	status := exit.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGSYS {
		t.Errorf("%s: %v, want SIGSYS", probe, err)
	}
}

// Only the thread that installs the filter has it.
func TestInstallIsForOneThread(t *testing.T) {
	t.Parallel()
	p, err := Assemble(Options{})
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		install error
		errno   unix.Errno
	}
	done := make(chan result)
	go func() {
		// The goroutine ends locked, so its thread ends with it.
		runtime.LockOSThread()
		_, err := installFilter(p, false)
		done <- result{err, call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0)}
	}()
	if r := <-done; r.install != nil || r.errno != unix.EPERM {
		t.Errorf("on the filtered thread: %+v, want EPERM for a socket", r)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Errorf("a socket on another thread: %v", err)
	}
	unix.Close(fd)
}

func TestInstallRefusesWhatIsNoProgram(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 7, 9, 8 * (maxInstructions + 1)} {
		if fd, err := install.Install(make([]byte, n), false); err == nil || fd != -1 {
			t.Errorf("Install of %d bytes = %d, %v; want an error", n, fd, err)
		}
	}
}
