package seccomp

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport/internal/needs"
	"golang.org/x/sys/unix"
)

// start starts a child that sends its listener, and returns both.
func start(t *testing.T, s childSpec) (*exec.Cmd, *Listener) {
	t.Helper()
	s.Listener = true
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "child")
	defer unix.Close(fds[0])
	cmd := command(t, s)
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(fds[0], make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		cmd.Process.Kill()
		t.Fatalf("no listener came: %v, %v", err, cmd.Wait())
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		t.Fatal(err)
	}
	rights, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewListener(rights[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return cmd, l
}

// drain collects events until the last process is gone.
func drain(t *testing.T, l *Listener) []Event {
	t.Helper()
	var all []Event
	for {
		e, err := l.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("Next() = %v, want io.EOF at the end", err)
		}
		all = append(all, e)
	}
}

func TestListenerReportsPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	writeFile(t, script, "#!/bin/sh\nexit 0\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("script", link); err != nil {
		t.Fatal(err)
	}
	sh := needs.Program(t, "sh")
	cmd, l := start(t, childSpec{
		Options: Options{Notify: true},
		Exec:    []string{sh, "-c", "ls / >/dev/null; cat </dev/null; cd " + dir + "; ./link; ./missing; exit 0"},
	})
	events := drain(t, l)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var paths, files []string
	for _, e := range events {
		if e.Call != "execve" || e.PID == 0 {
			t.Errorf("event %+v, want execve and a process", e)
		}
		paths = append(paths, e.Paths...)
		if e.File != "" {
			files = append(files, e.File)
		}
	}
	wantPaths := []string{sh, needs.Program(t, "ls"), needs.Program(t, "cat"), link, filepath.Join(dir, "missing")}
	if !slices.Equal(paths, wantPaths) {
		t.Errorf("paths %q, want %q", paths, wantPaths)
	}
	want := make([]string, 0, 4)
	for _, p := range wantPaths[:4] {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, real)
	}
	if !slices.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}
}

func TestListenerResolvesDescriptors(t *testing.T) {
	t.Parallel()
	truth := needs.Program(t, "true")
	real, err := filepath.EvalSymlinks(truth)
	if err != nil {
		t.Fatal(err)
	}
	for _, probe := range []string{"execveat empty path", "execveat below directory"} {
		t.Run(probe, func(t *testing.T) {
			t.Parallel()
			cmd, l := start(t, childSpec{Options: Options{Notify: true}, Probes: []string{probe}})
			events := drain(t, l)
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if len(events) != 1 || events[0].Call != "execveat" || events[0].File != real {
				t.Errorf("events %+v, want one of execveat with the file %s", events, real)
			}
		})
	}
}

// The links in the tree of a child are followed inside that tree.
func TestListenerStaysInTheTree(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "file"), "no program")
	if err := os.Symlink("/../file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	cmd, l := start(t, childSpec{Options: Options{Notify: true}, Chroot: dir, Probes: []string{"execve of a link"}})
	events := drain(t, l)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	want := []Event{{PID: cmd.Process.Pid, Call: "execve", Paths: []string{"/link"}, File: filepath.Join(dir, "file")}}
	if len(events) == 1 {
		// The call is made by a thread of the process.
		want[0].PID = events[0].PID
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A call whose path cannot be read goes on and gets the kernel's answer.
func TestListenerNeverHolds(t *testing.T) {
	t.Parallel()
	cmd := childSpec{Options: Options{Notify: true}, Probes: []string{"execve of nothing", "execve of a long path"}}
	c, l := start(t, cmd)
	events := drain(t, l)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(events) != 2 || len(events[0].Paths) != 0 || len(events[1].Paths) != 0 {
		t.Errorf("events %+v, want two without a path", events)
	}
}

func TestListenerCloseEndsNext(t *testing.T) {
	t.Parallel()
	cmd, l := start(t, childSpec{Options: Options{Notify: true}, Probes: []string{"wait"}})
	done := make(chan error)
	go func() {
		_, err := l.Next()
		done <- err
	}()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, os.ErrClosed) {
		t.Errorf("Next() = %v after Close, want os.ErrClosed", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
}

func TestNewListenerRefusesOtherDescriptors(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fd, err := unix.Dup(int(r.Fd()))
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	l, err := NewListener(fd)
	if err != nil {
		return
	}
	defer l.Close()
	if _, err := l.Next(); err == nil {
		t.Error("Next() on a pipe succeeded")
	}
}

func TestWatchReportsFilesAndPeers(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	dir := t.TempDir()
	program := `
import os, socket, sys
os.chdir(sys.argv[1])
open("a", "w").close(); open("a").close()
os.mkdir("d"); os.rename("a", "d/b"); os.symlink("target", "s"); os.unlink("s")
os.truncate("d/b", 0); os.chmod("d/b", 0o600); os.utime("d/b")
t = socket.socket(); t.connect(("127.0.0.1", int(sys.argv[2])))
u = socket.socket(socket.AF_UNIX); u.connect_ex("d/sock"); u.connect_ex("\0abstract")
`
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	python := needs.Program(t, "python3")
	cmd, l := start(t, childSpec{
		Options: Options{Watch: true},
		Exec:    []string{python, "-S", "-c", program, dir, port},
	})
	events := drain(t, l)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, e := range events {
		for _, p := range e.Paths {
			if rel, err := filepath.Rel(dir, p); err == nil && !strings.HasPrefix(rel, "..") {
				kind := "read "
				if e.Write {
					kind = "write "
				}
				got[kind+rel] = true
			}
		}
		if e.Peer != "" {
			got["peer "+e.Peer] = true
		}
	}
	want := []string{
		"read .", "write a", "read a", "write d", "write d/b", "write s",
		"peer " + tcp.Addr().String(), "peer d/sock", "peer @abstract",
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("no event %q; got %v", w, got)
		}
		delete(got, w)
	}
	if len(got) != 0 {
		t.Errorf("unexpected events %v", got)
	}
}

// TestABlindListenerLooksAtNothing: the calls go on, and nothing of their
// callers is read.
func TestABlindListenerLooksAtNothing(t *testing.T) {
	t.Parallel()
	cmd, l := start(t, childSpec{
		Options: Options{Notify: true}, Exec: []string{needs.Program(t, "sh"), "-c", "cat </dev/null; exit 0"},
	})
	l.Blind = true
	l.Before = func(e *Event) { t.Errorf("Before was called with %+v", e) }
	events := drain(t, l)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(events) != 2 {
		t.Errorf("%d events, want 2", len(events))
	}
	for _, e := range events {
		if e.Call != "execve" || e.PID == 0 || len(e.Paths) > 0 || e.File != "" {
			t.Errorf("event %+v, want execve and a process alone", e)
		}
	}
}
