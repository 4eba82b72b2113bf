package terminal_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/sandbox"
	"github.com/sallyport/sallyport/tools/terminal"
)

// roles finds personalities by name.
type roles map[string]*sallyport.Personality

func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// gate is a registry with the tools, over a real sandbox.
type gate struct {
	t         *testing.T
	registry  *registry.Registry
	workspace string
}

func newGate(t *testing.T, o *terminal.Options) *gate {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := &sallyport.FileBackend{}
	runner, err := sandbox.New(&sandbox.Options{Files: files, Warm: -1, Toolchains: sandbox.Toolchains(os.Getenv("HOME"))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runner.Close() })
	family, err := terminal.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = family.Close() })
	r, err := registry.New(&sallyport.Backends{
		Personalities: roles{"writer": {Name: "writer", FSReach: &sallyport.Reach{Read: []string{dir}, Write: []string{dir}}}},
		Files:         files, Process: runner, Network: &sallyport.NetworkBackend{},
	}, &registry.Options{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(t.Context()) })
	if err := r.Register(family.Tools()...); err != nil {
		t.Fatal(err)
	}
	for _, red := range terminal.Reducers() {
		if _, err := r.RegisterReducer(red); err != nil {
			t.Fatal(err)
		}
	}
	return &gate{t, r, dir}
}

// use calls a tool in a session.
func (g *gate) use(session, tool string, in map[string]any) sallyport.Result {
	g.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		g.t.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "me"}, Personality: "writer", Session: session, Workspace: g.workspace}
	return g.registry.Call(g.t.Context(), caller, sallyport.Request{Tool: tool, Args: raw})
}

// want fails unless a call is a success whose value has every part.
func (g *gate) want(r sallyport.Result, parts ...string) {
	g.t.Helper()
	if !r.OK {
		g.t.Fatalf("result = %s: %s, want a success", r.Code, r.Error)
	}
	for _, p := range parts {
		if !strings.Contains(r.Value, p) {
			g.t.Errorf("value = %q, want it to contain %q", r.Value, p)
		}
	}
}

func (g *gate) write(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// TestTerminalInTheSandbox runs commands through the whole gate.
func TestTerminalInTheSandbox(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	outside := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(outside, []byte("secret of another folder"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := g.use("s", "terminal", map[string]any{"command": "echo out; echo err >&2; echo text > made.txt; pwd; exit 3"})
	g.want(r, "<untrusted source=\"cmd:echo out;", "exit code: 3\n\nout\nerr\n"+g.workspace)
	if level := r.Structured["level"]; level != "full" && level != "strict" {
		t.Errorf("level = %v, want a confined one", level)
	}
	if got, err := os.ReadFile(filepath.Join(g.workspace, "made.txt")); err != nil || string(got) != "text\n" {
		t.Errorf("made.txt = %q, %v", got, err)
	}
	r = g.use("s", "terminal", map[string]any{"command": "cat " + outside + "; echo x > " + outside})
	g.want(r)
	if strings.Contains(r.Value, "secret of another folder") {
		t.Errorf("value = %q, holds what is outside", r.Value)
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "secret of another folder" {
		t.Errorf("outside = %q, %v, was changed", got, err)
	}
	g.want(g.use("s", "terminal", map[string]any{"command": "sleep 60", "timeout_seconds": 1}), "(ended by the timeout of 1 s)")
	g.want(g.use("s", "terminal", map[string]any{"command": "seq 1 20000"}), "exit code: 0\n\n1\n2\n", "\n20000", "the whole output is in "+g.workspace+"/.terminal/")
}

func TestCodeInTheSandbox(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	for language, code := range map[string]string{
		"python": "print(6*7)", "node": "console.log(6*7)", "bash": "echo $((6*7))",
	} {
		g.want(g.use("s", "run_code", map[string]any{"language": language, "code": code}), "exit code: 0\n\n42")
	}
}

func TestGoInTheSandbox(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	needs.Toolchain(t)
	g := newGate(t, nil)
	g.write("go.mod", "module example.com/demo\n\ngo 1.21\n")
	g.write("a_test.go", "package demo\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) { t.Error(\"as it should\") }\n")
	r := g.use("s", "run_tests", map[string]any{})
	g.want(r, "exit code: 1\nran: go test -json ./...\ntests: 1 passed, 1 failed\n\n", "as it should")
	g.want(g.use("s", "run_tests", map[string]any{"filter": "TestA"}), "exit code: 0\n", "tests: 1 passed, 0 failed\n")
	g.want(g.use("s", "lint", map[string]any{}), "exit code: 0\nran: go vet ./...\n")
	g.write("b.go", "package demo\n\nvar b string = 1\n")
	g.want(g.use("s", "typecheck", map[string]any{}), "exit code: 1\n", "b.go:3:16: cannot use 1")
}

func TestReducedInTheSandbox(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.write("b.txt", "b")
	g.want(g.use("s", "terminal", map[string]any{"command": "git init -q -b main . && touch a.txt"}), "exit code: 0\n")
	g.want(g.use("s", "terminal", map[string]any{"command": "git status"}), "exit code: 0\n\nmain\nNo commits yet\n2 untracked\n?? a.txt\n?? b.txt")
}

func TestBackgroundInTheSandbox(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	r := g.use("a", "process_start", map[string]any{"command": "echo ready; while :; do sleep 1; done", "label": "waits"})
	g.want(r)
	id, ok := r.Structured["id"].(string)
	if !ok {
		t.Fatalf("structured = %v, want an id", r.Structured)
	}
	// The call is over, and the process is not.
	g.want(g.use("a", "process_output", map[string]any{"id": id, "wait_seconds": 30}), id+": running\n\nready")
	if other := g.use("b", "process_output", map[string]any{"id": id}); other.OK {
		t.Errorf("another session reads %q", other.Value)
	}
	g.want(g.use("a", "process_list", map[string]any{}), id+": running [waits]")
	g.want(g.use("a", "process_stop", map[string]any{"id": id}), id+": ended with exit code ")
}
