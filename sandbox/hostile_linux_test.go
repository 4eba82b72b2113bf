package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
)

const (
	// canary is what the program in testdata/hostile looks for.
	canary = "CANARY-6f1d2a"
	// hostileVar names the built program, resultsVar the file that takes what
	// an ordinary user saw.
	hostileVar = "SALLYPORT_TEST_HOSTILE"
	resultsVar = "SALLYPORT_TEST_RESULTS"
	// inheritedFD is a descriptor that the runtime got from its own parent.
	inheritedFD = 200
	// processesOfTest is the bound on processes that the program tries to pass.
	processesOfTest = 48
)

// target is Target of testdata/hostile.
type target struct {
	Root       string
	Victim     int
	Address    uint64
	VictimFD   int
	TCP, UDP   int
	Abstract   string
	Shared     int
	Device     uint64
	HandleType int32
	Handle     []byte
	Processes  int
}

// results is what each attack said, in the order of the program.
type results struct {
	Names []string
	Said  map[string]string
}

func (r *results) allowed(name string) bool { return strings.HasPrefix(r.Said[name], "ALLOWED") }

// tolerated are the attacks that work at the level full, with the reason.
var tolerated = map[string]string{
	"list the root directory": "the tree is the child's own, and holds what it was granted and the system's read-only parts",
	"read a key through another hard link in reach": "the floor of children goes by path, and this name is not on it; the file " +
		"accessor knows keys by identity",
	"run a program from private /tmp": "build tools and test runners start what they have built; it is confined like its parent",
	"run a program from memory":       "no file system is asked; it is confined like its parent",
}

// toleratedForRoot work when root runs the gate, where no control group
// counts processes.
var toleratedForRoot = map[string]string{
	"more processes than the limit": "the kernel does not count the processes of the host's root (RLIMIT_NPROC); a control group does",
}

// TestHostile has a hostile program try to break out at the level full, as the
// current user and for root once more as an ordinary one.
func TestHostile(t *testing.T) {
	t.Parallel()
	got := attack(t, column{level: sallyport.LevelFull})
	if path := os.Getenv(resultsVar); path != "" {
		data, err := json.Marshal(got)
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range got.Names {
		_, known := tolerated[name]
		if os.Geteuid() == 0 && !known {
			_, known = toleratedForRoot[name]
		}
		if got.allowed(name) && !known {
			t.Errorf("%s: %s", name, got.Said[name])
		}
	}
	if os.Geteuid() == 0 {
		hostileAsNobody(t)
	}
}

// hostileAsNobody runs TestHostile as an ordinary user, once, and returns what
// that one saw.
func hostileAsNobody(t *testing.T) *results {
	t.Helper()
	const key = "nobody"
	if r, ok := attacked.Load(key); ok {
		return r.(*results)
	}
	dir, err := os.MkdirTemp("/var/tmp", "sallyport-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o777), copyFile(hostileProgram(t), dir+"/hostile")); err != nil {
		t.Fatal(err)
	}
	asNobody(t, "^TestHostile$", hostileVar+"="+dir+"/hostile", resultsVar+"="+dir+"/results")
	var r results
	data, err := os.ReadFile(dir + "/results")
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	attacked.Store(key, &r)
	return &r
}

// column is a way of starting the program.
type column struct {
	name    string
	level   sallyport.Level
	without layers
}

// attack returns what the program says; it runs once for each set of layers.
func attack(t *testing.T, col column) *results {
	t.Helper()
	col.name = ""
	if r, ok := attacked.Load(col); ok {
		return r.(*results)
	}
	r := attackOnce(t, col)
	attacked.Store(col, r)
	return r
}

// attacked is what was said, by column.
var attacked sync.Map

func attackOnce(t *testing.T, col column) *results {
	t.Helper()
	tg := newTarget(t)
	r, err := New(asAsked(&Options{Level: col.level, Warm: -1, Limits: Limits{Processes: processesOfTest}, without: col.without}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if col.without != 0 {
		// The probe would notice that a layer is missing.
		r.probe = func() *Report { return &Report{Level: col.level, Wanted: col.level} }
	}
	text, err := json.Marshal(tg)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(tg.Root, "bin", "hostile")
	c, err := r.Start(t.Context(), &sallyport.Spawn{
		Binary: program, Args: []string{"all", string(text)}, Workspace: tg.Root + "/ws",
		Grant: &sallyport.Grant{
			FS:      sallyport.FSGrant{Read: []string{tg.Root + "/bin", tg.Root + "/ws"}, Write: []string{tg.Root + "/ws"}},
			Process: sallyport.ProcessGrant{Binaries: []string{program}},
		},
	})
	if err != nil {
		t.Fatal(textOf(err))
	}
	res, err := c.Wait()
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", res.ExitCode, err, res.Stdout, res.Stderr)
	}
	out := &results{Said: map[string]string{}}
	for line := range strings.Lines(string(res.Stdout)) {
		name, said, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || !strings.HasPrefix(said, "ALLOWED") && !strings.HasPrefix(said, "BLOCKED") {
			t.Fatalf("the program said %q", line)
		}
		out.Names, out.Said[name] = append(out.Names, name), said
	}
	if len(out.Names) < 65 {
		t.Fatalf("the program tried %d attacks only", len(out.Names))
	}
	t.Logf("%s without %b:\n%s", col.level, col.without, res.Stdout)
	return out
}

// hostileProgram builds the program, once for all tests of a run.
func hostileProgram(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(hostileVar); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "hostile")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./testdata/hostile")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// newTarget puts up what the program attacks.
func newTarget(t *testing.T) *target {
	t.Helper()
	st := newStage(t)
	tg := &target{Root: st.Root, Processes: processesOfTest, Abstract: filepath.Base(st.Root)}
	fill(t, tg.Root)
	tg.TCP, tg.UDP = answerOn(t, "tcp4", "127.0.0.1:0"), answerUDP(t)
	answerOn(t, "unix", tg.Root+"/outside/socket")
	answerOn(t, "unix", tg.Root+"/ws/socket")
	answerOn(t, "unix", "@"+tg.Abstract)
	startVictim(t, tg)

	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Fatal(err)
	}
	tg.Shared = id
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	segment, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	copy(segment, canary)
	if err := unix.SysvShmDetach(segment); err != nil {
		t.Fatal(err)
	}

	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, tg.Root+"/outside/secret", 0)
	if err != nil {
		t.Fatal(err)
	}
	tg.HandleType, tg.Handle = handle.Type(), handle.Bytes()
	var stat unix.Stat_t
	if err := unix.Stat(tg.Root, &stat); err != nil {
		t.Fatal(err)
	}
	tg.Device = stat.Dev

	f, err := os.Open(tg.Root + "/outside/secret")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Dup2(int(f.Fd()), inheritedFD); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(inheritedFD) })
	return tg
}

// fill makes the files of the reach and of what lies outside it.
func fill(t *testing.T, root string) {
	t.Helper()
	err := errors.Join(os.Mkdir(root+"/bin", 0o755), os.MkdirAll(root+"/ws/.git/hooks", 0o755), os.Mkdir(root+"/ws/.ssh", 0o700))
	for _, name := range []string{"secret", "write", "truncate", "remove", "rename", "meta"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(root, "outside", name), []byte(canary), 0o600))
	}
	program := hostileProgram(t)
	err = errors.Join(
		err,
		os.WriteFile(root+"/ws/.git/config", []byte("[core]\n"), 0o644),
		os.WriteFile(root+"/ws/.ssh/id_rsa", []byte(canary), 0o600),
		os.Link(root+"/ws/.ssh/id_rsa", root+"/ws/linked"),
		os.WriteFile(root+"/bin/program", []byte("x"), 0o755),
		copyFile(program, root+"/bin/hostile"),
		copyFile(program, root+"/outside/hello"),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// answerOn says the canary to each client.
func answerOn(t *testing.T, network, address string) (port int) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(canary))
			c.Close()
		}
	}()
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

func answerUDP(t *testing.T) (port int) {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		for {
			_, from, err := c.ReadFromUDP(make([]byte, 64))
			if err != nil {
				return
			}
			_, _ = c.WriteTo([]byte(canary), from)
		}
	}()
	return c.LocalAddr().(*net.UDPAddr).Port
}

// startVictim starts a process that stands for the runtime: it belongs to the
// same user and holds the canary wherever a process holds something.
func startVictim(t *testing.T, tg *target) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tg.Root+"/bin/hostile", "victim", canary)
	cmd.Env = []string{"TOKEN=" + canary, "TMPDIR=" + tg.Root + "/tmp"}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &tg.Address, &tg.VictimFD)
	}
	if err != nil {
		t.Fatal(err)
	}
	tg.Victim = cmd.Process.Pid
}

// The child of a reach whose hook folder is a link starts, and cannot replace
// the link or what it leads to.
func TestALinkedHookFolderStaysClosed(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	err := errors.Join(os.MkdirAll(st.Root+"/ws/.git", 0o755), os.MkdirAll(st.Root+"/ws/tools", 0o755),
		os.Symlink("../tools", st.Root+"/ws/.git/hooks"))
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t)
	script := "echo x > .git/hooks/pre-commit; rm -f .git/hooks && mkdir .git/hooks; mv .git git2; echo x > tools/pre-commit; ls -A .git/hooks"
	o := h.run(&processCase{Allowed: []string{"sh"}, Binary: "sh", Args: []string{"-c", script}}, st)
	if o.Err != "" {
		t.Fatalf("the child did not start: %s", o.Err)
	}
	if len(o.Result.Stdout) != 0 {
		t.Errorf("hooks = %q, want none; stderr %s", o.Result.Stdout, o.Result.Stderr)
	}
	if link, err := os.Readlink(st.Root + "/ws/.git/hooks"); link != "../tools" {
		t.Errorf("the link = %q, %v, want it unchanged", link, err)
	}
	if names, _ := os.ReadDir(st.Root + "/ws/tools"); slices.ContainsFunc(names, func(e os.DirEntry) bool { return e.Name() == "pre-commit" }) {
		t.Error("a hook was planted where the link leads")
	}
}
