package seccomp

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/sandbox/internal/seccomp/install"
	"golang.org/x/sys/unix"
)

// childVar makes the test binary a filtered child. Its value is a childSpec.
const childVar = "SECCOMP_TEST_CHILD"

// childSpec says what the child does under the filter.
type childSpec struct {
	Options Options
	// Exec is a program to execute; empty runs the probes that are named.
	Exec   []string
	Probes []string
	// Calls are system calls to make one after the other.
	Calls []rawCall
	// Chroot is the root directory of the child, which is then in a user
	// namespace of its own.
	Chroot string
	// Listener makes the child send its listener over descriptor 3 first.
	Listener bool
	// Unfiltered leaves the filter out.
	Unfiltered bool
}

// rawCall is a system call by number.
type rawCall struct {
	Number uintptr
	Args   [6]uintptr
}

func TestMain(m *testing.M) {
	if spec := os.Getenv(childVar); spec != "" {
		if err := runChild(spec); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(125)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func installFilter(p Program, listener bool) (fd int, err error) {
	return install.Install(p.Encode(), listener)
}

// runChild filters its thread and does what the specification says.
func runChild(text string) error {
	runtime.LockOSThread()
	var s childSpec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	os.Unsetenv(childVar)
	p, err := Assemble(s.Options)
	if err != nil {
		return err
	}
	if s.Chroot != "" {
		if err := unix.Chroot(s.Chroot); err != nil {
			return fmt.Errorf("chroot: %w", err)
		}
	}
	fd := -1
	if !s.Unfiltered {
		if fd, err = installFilter(p, s.Listener); err != nil {
			return err
		}
	}
	if s.Listener {
		if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
			return fmt.Errorf("sending the listener: %w", err)
		}
		if err := unix.Close(3); err != nil {
			return err
		}
	}
	if len(s.Exec) > 0 {
		return unix.Exec(s.Exec[0], s.Exec, os.Environ())
	}
	for _, name := range s.Probes {
		fmt.Println(errnoName(probes[name]()))
	}
	for _, c := range s.Calls {
		fmt.Println(errnoName(call(c.Number, c.Args[:]...)))
	}
	return nil
}

// errnoName prints an error number, "ok" for none.
func errnoName(errno unix.Errno) string {
	if errno == 0 {
		return "ok"
	}
	if errno == unix.EOPNOTSUPP {
		// The same number has two names.
		return "EOPNOTSUPP"
	}
	return unix.ErrnoName(errno)
}

// command returns the test binary as a child with a specification.
func command(t *testing.T, s childSpec) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVar+"="+string(text))
	if s.Chroot != "" {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
	}
	return cmd
}

func TestProgramsRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"sh", []string{"sh", "-c", "echo a | cat; ls / >/dev/null"}, "a"},
		{"git", []string{"git", "-C", "DIR", "init", "-q", "repo"}, ""},
		{"gcc", []string{"gcc", "-x", "c", "-o", "DIR/out", "DIR/main.c"}, ""},
		{"java", []string{"java", "-Xshare:auto", "-version"}, ""},
		{"go", []string{"go", "run", "DIR/main.go"}, "served"},
		{"python", []string{"python3", "-c", pythonProgram}, "served"},
		{"node", []string{"node", "-e", nodeProgram}, "served"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFile(t, dir+"/main.c", "#include <stdio.h>\nint main(void){puts(\"c\");return 0;}\n")
			writeFile(t, dir+"/main.go", goProgram)
			args := append([]string{needs.Program(t, tt.args[0])}, tt.args[1:]...)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "DIR", dir)
			}
			cmd := command(t, childSpec{Options: full, Exec: args})
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", tt.name, err, out)
			}
			if !strings.Contains(string(out), tt.want) {
				t.Errorf("%s printed %q, want %q in it", tt.name, out, tt.want)
			}
		})
	}
}

// The programs start threads and processes and talk to themselves over
// loopback, which is what test suites do.
const (
	goProgram = `package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { c, _ := l.Accept(); c.Write([]byte("served")); c.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	b := make([]byte, 6)
	c.Read(b)
	if err := exec.Command("true").Run(); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, string(b))
}
`
	pythonProgram = `
import socket, subprocess, threading, multiprocessing.pool
s = socket.create_server(("127.0.0.1", 0))
def serve():
    c, _ = s.accept(); c.sendall(b"served"); c.close()
threading.Thread(target=serve).start()
c = socket.create_connection(s.getsockname())
text = c.recv(6).decode()
subprocess.run(["true"], check=True)
socket.getaddrinfo("localhost", 80)
print(multiprocessing.pool.ThreadPool(2).map(str, [text])[0])
`
	nodeProgram = `
const http = require("http"), cp = require("child_process");
const s = http.createServer((q, r) => r.end("served")).listen(0, "127.0.0.1", () => {
  http.get({ port: s.address().port, host: "127.0.0.1" }, (r) => {
    r.on("data", (d) => { cp.execFileSync("true"); console.log(String(d)); });
    r.on("end", () => s.close());
  });
});
`
)

// writeFile writes a file of a test.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
