package sandbox

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/scoped"
)

//go:embed testdata/process.json
var processVectors []byte

// processCase is one case of testdata/process.json.
type processCase struct {
	ID        string            `json:"id"`
	Group     string            `json:"group"`
	Why       string            `json:"why"`
	Allowed   []string          `json:"allowed"`
	Binary    string            `json:"binary"`
	Args      []string          `json:"args"`
	ArgRepeat int               `json:"arg_repeat"`
	Env       map[string]string `json:"env"`
	Dir       string            `json:"cwd"`
	Setup     []setupStep       `json:"setup"`
	Network   []string          `json:"network"`
	Secrets   map[string]string `json:"secrets"`
	TimeoutMS int               `json:"timeout_ms"`
	HostEnv   map[string]string `json:"host_env"`
	HostTTY   bool              `json:"host_tty"`
	KillAfter int               `json:"kill_runtime_after_ms"`
	Simulate  map[string]any    `json:"simulate"`
	Needs     []string          `json:"needs"`
	Choice    bool              `json:"design_choice"`
	Expect    string            `json:"expect"`
	Alt       string            `json:"alt_expect"`
	Check     processCheck      `json:"check"`
	Race      *struct {
		Swap       []string `json:"swap"`
		Iterations int      `json:"iterations"`
	} `json:"race"`
}

type setupStep struct {
	Do      string `json:"do"`
	Path    string `json:"path"`
	Content string `json:"content"`
	Target  string `json:"target"`
	Mode    string `json:"mode"`
	Command string `json:"cmd"`
}

// designChoices are the cases in which this package decides otherwise.
var designChoices = map[string]string{
	"proc-fs-012": "in direct mode a name of the deny floor that does not exist can be created, because a mount needs " +
		"something to lie on; overlay mode refuses it when it commits, and what exists is covered (TestHostile)",
}

// TestProcessVectors runs the adversarial cases as the current user, and for
// root once more as an ordinary one.
func TestProcessVectors(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	var cases []*processCase
	d := json.NewDecoder(bytes.NewReader(processVectors))
	d.DisallowUnknownFields()
	if err := d.Decode(&cases); err != nil {
		t.Fatal(err)
	}
	t.Run("cases", func(t *testing.T) {
		h := newHost(t)
		t.Run("all", func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.ID, func(t *testing.T) {
					t.Parallel()
					runCase(t, h, c)
				})
			}
		})
	})
	t.Run("unprivileged", func(t *testing.T) { asNobody(t, "^TestProcessVectors$/^cases$") })
}

func runCase(t *testing.T, h *host, c *processCase) {
	for _, need := range c.Needs {
		if reason := missingNeed(need); reason != "" {
			t.Skip(reason)
		}
	}
	switch {
	case os.Getenv(againVar) != "" && !needs.Long() && (c.Race != nil || c.Check.Repeat > 0 || c.TimeoutMS > 0):
		t.Skip("root has it; with SALLYPORT_TEST_LONG=1 an ordinary user has it too")
	case c.Simulate["spec_truncated"] != nil:
		t.Skip("a cut specification is tested by TestACutSpecificationRunsNothing")
	case slices.Contains(c.Allowed, "*"):
		t.Skip("decided otherwise: * declares any binary on the search path, and the list of a personality is its ceiling")
	}
	st := newStage(t)
	for _, s := range c.Setup {
		st.setUp(t, s)
	}
	var o outcome
	if c.elsewhere() {
		o = runElsewhere(t, c, st)
	} else {
		o = h.run(c, st)
	}
	if why := designChoices[c.ID]; why != "" {
		t.Skip(why)
	}
	checkExpectation(t, c, &o)
	checkOutcome(t, c, st, &o)
}

// elsewhere reports whether a case needs a runtime process of its own.
func (c *processCase) elsewhere() bool {
	return c.HostEnv != nil || c.HostTTY || c.KillAfter > 0 || c.Check.Leaks != nil || faultOf(c) != ""
}

// missingNeed says why something that a case needs is not there.
func missingNeed(need string) string {
	switch need {
	case "mountns", "netns", "userns", "memory":
		return "" // the level full has them, or the case fails
	case "root":
		if os.Geteuid() != 0 {
			return "needs root"
		}
		return ""
	}
	for _, dir := range searchPath {
		if _, err := os.Stat(filepath.Join(dir, need)); err == nil {
			return ""
		}
	}
	return need + " is not installed on the search path"
}

// stage is the folder of a case, and a listener of the host.
type stage struct {
	Root string
	Port int
}

func newStage(t *testing.T) stage {
	t.Helper()
	// The private /tmp of a child would hide what lies below /tmp.
	dir, err := os.MkdirTemp("/var/tmp", "sallyport-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, sub := range []string{"ws", "outside", "home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "outside", "secret.txt"), []byte("SECRET\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return stage{dir, l.Addr().(*net.TCPAddr).Port}
}

// expand fills in the variables of the vectors.
func (s stage) expand(text string) string {
	return strings.NewReplacer(
		"$HOME", s.Root+"/home", "$HOSTPORT", strconv.Itoa(s.Port), "$PROXYPORT", strconv.Itoa(helper.ProxyPort),
		"$RUNTIMEPID", strconv.Itoa(os.Getpid()), "$T", s.Root,
	).Replace(text)
}

func (s stage) setUp(t *testing.T, step setupStep) {
	t.Helper()
	var err error
	switch path := s.expand(step.Path); step.Do {
	case "mkdir":
		err = os.MkdirAll(path, 0o755)
	case "file":
		mode, _ := strconv.ParseUint(cmp.Or(step.Mode, "0644"), 8, 32)
		if err = os.WriteFile(path, []byte(s.expand(step.Content)), 0o644); err == nil {
			err = os.Chmod(path, os.FileMode(mode))
		}
	case "symlink":
		err = os.Symlink(s.expand(step.Target), path)
	case "run":
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", s.expand(step.Command))
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + s.Root + "/home"}
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	default:
		t.Fatalf("unknown set-up step %q", step.Do)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// host is a runtime as the vectors know it: a runner, and a network in which
// allowed.example and example.com exist and every dialled address answers.
type host struct {
	runner  *Runner
	network *sallyport.NetworkBackend
	answer  net.Listener

	mu    sync.Mutex
	dials []string
}

func openHost(o Options) (*host, error) {
	h := &host{}
	var err error
	if h.answer, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := h.answer.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	h.network = &sallyport.NetworkBackend{Resolve: resolveExample, Dial: h.dial}
	o.Network = h.network
	if h.runner, err = New(asAsked(&o)); err != nil {
		h.answer.Close()
		return nil, err
	}
	return h, nil
}

func newHost(t *testing.T) *host {
	t.Helper()
	h, err := openHost(Options{Limits: testLimits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	return h
}

func (h *host) close() {
	h.runner.Close()
	h.answer.Close()
}

func resolveExample(_ context.Context, name string) ([]netip.Addr, error) {
	switch name {
	case "allowed.example", "example.com":
		return []netip.Addr{netip.MustParseAddr("93.184.215.99")}, nil
	default:
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
}

func (h *host) dial(ctx context.Context, _ string, addr netip.AddrPort) (net.Conn, error) {
	h.mu.Lock()
	h.dials = append(h.dials, addr.String())
	h.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, "tcp4", h.answer.Addr().String())
}

// outcome is what one case left. It crosses from a runtime process to the
// test as JSON.
type outcome struct {
	Result sallyport.ProcessResult
	// Err is the error of the accessor; Code its code.
	Err  string
	Code sallyport.Code
	// TTY is how much input waits on the terminal of the runtime.
	TTY int
	// Leaks is what was left behind.
	Leaks []string
	// Reached is true when the host could connect to a child.
	Reached bool
	// Dials lists the addresses that the proxy dialled.
	Dials []string
	// Died is true when the runtime was killed.
	Died bool
	// Peak is the memory of the runtime afterwards, in bytes.
	Peak uint64
	Took time.Duration
}

// fileBytesOfTest spares the disk; the default bound is compared with the one
// of the vectors.
const fileBytesOfTest = 64 << 20

// testLimits bounds memory at more than the race detector maps when this program
// starts as its own probe: about 390 MB beside what the program needs.
var testLimits = Limits{FileBytes: fileBytesOfTest, Memory: 1 << 30}

// hangs is how long a case may take before it is taken to hang.
const hangs = time.Minute

// run carries out one case.
func (h *host) run(c *processCase, st stage) outcome {
	o := outcome{}
	scope, call, err := h.bind(c, st)
	if err != nil {
		return outcome{Err: err.Error()}
	}
	defer scope.Close()
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	if _, err := scope.Bind(ctx, call, scoped.Turn{}, nil); err != nil {
		return outcome{Err: err.Error()}
	}
	start := time.Now()
	if c.Check.NotReachable {
		o.Reached, err = reachedFromHost(ctx, call, c, st)
	} else {
		o.Result, err = spawn(ctx, call, c, st)
	}
	o.Took = time.Since(start)
	o.Err, o.Code = textOf(err), codeOf(err)
	h.mu.Lock()
	o.Dials = slices.Clone(h.dials)
	h.mu.Unlock()
	return o
}

// bind makes the accessor of a case.
func (h *host) bind(c *processCase, st stage) (*scoped.Scope, *sallyport.Call, error) {
	ws := []string{st.Root + "/ws"}
	reach := sallyport.FSGrant{Read: ws, Write: ws}
	if missing, ok := c.Simulate["reach_path_missing"].(string); ok {
		reach = sallyport.FSGrant{Read: []string{st.expand(missing)}, Write: []string{st.expand(missing)}}
	}
	scope, err := scoped.New("vector", &sallyport.Grant{
		FS: reach, Process: sallyport.ProcessGrant{Binaries: c.Allowed}, Network: sallyport.NetworkGrant{Allow: c.Network},
	}, &sallyport.Backends{Process: h.runner, Files: &sallyport.FileBackend{}, Network: h.network})
	return scope, &sallyport.Call{Workspace: ws[0], SessionKey: "local/s"}, err
}

// options are those of the case, with its variables filled in.
func (c *processCase) options(st stage) *sallyport.SpawnOptions {
	o := &sallyport.SpawnOptions{
		Dir: st.expand(c.Dir), Env: map[string]string{}, Timeout: time.Duration(c.TimeoutMS) * time.Millisecond,
	}
	for name, value := range c.Env {
		o.Env[name] = st.expand(value)
	}
	if c.Simulate["reach_path_missing"] != nil {
		o.Dir = "" // the workspace is not within reach then
	}
	return o
}

func (c *processCase) args(st stage) []string {
	var args []string
	for _, a := range c.Args {
		args = append(args, strings.Repeat(st.expand(a), max(c.ArgRepeat, 1)))
	}
	return args
}
