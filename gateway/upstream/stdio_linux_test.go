package upstream_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

func TestToolsOfAServer(t *testing.T) {
	t.Parallel()
	g := newGate(t, pythonServer(t))
	for _, tt := range []struct {
		tool string
		args object
		ok   bool
		want string
	}{
		{"test__echo", object{"text": "hello"}, true, "hello"},
		{"test__fail", nil, false, "it failed"},
		{"test__structured", nil, true, `{"n": 1}`},
		{"test__dots_in_name", nil, true, "called dots.in/name"},
	} {
		res := g.call(tt.tool, tt.args)
		if res.OK != tt.ok || inside(res) != tt.want {
			t.Errorf("%s = %+v, want ok %v, %q", tt.tool, res, tt.ok, tt.want)
		}
		if text := res.Value + res.Error; !strings.HasPrefix(text, `<untrusted source="unknown" tool="mcp__`+tt.tool+`">`) {
			t.Errorf("%s = %q, want it wrapped", tt.tool, text)
		}
	}
	if res := g.call("test__structured", nil); res.Structured["n"] == nil {
		t.Errorf("structured = %+v, want what the server answered", res)
	}
	// The gate's own checks.
	if res := g.call("test__lies", nil); res.OK || res.Code != sallyport.CodeExecutionFailed {
		t.Errorf("an answer against its schema = %+v, want a failure", res)
	}
	if res := g.call("test__echo", object{"text": 1}); res.Code != sallyport.CodeInputInvalid {
		t.Errorf("arguments against the schema = %+v, want input_invalid", res)
	}
	if res := g.callAs(t.Context(), "ann", "none", "test__echo", object{}); res.Code != sallyport.CodeNotAvailable {
		t.Errorf("a role without the server = %+v, want not_available", res)
	}
	if res := g.call("test__broken", nil); res.Code != sallyport.CodeNotAvailable {
		t.Errorf("a tool with a broken schema = %+v, want not_available", res)
	}
	if len(g.left) != 1 || !strings.Contains(g.left[0], "mcp__test__broken") {
		t.Errorf("left out: %q, want the tool with the broken schema alone", g.left)
	}
}

// TestDefinitionsAreCleaned, because models and terminals show them.
func TestDefinitionsAreCleaned(t *testing.T) {
	t.Parallel()
	g := newGate(t, pythonServer(t))
	for _, tool := range g.Tools() {
		if tool.Name != "mcp__test__dots_in_name" {
			continue
		}
		if want := "Has colours, [STRIPPED-TEMPLATE-TOKEN] and [REDACTED:secret]."; tool.Description != want {
			t.Errorf("the description is %q, want %q", tool.Description, want)
		}
		if text := string(tool.Schema); !strings.Contains(text, `"text"`) || strings.Contains(text, "title") {
			t.Errorf("the schema is %s, want it without the escape", text)
		}
		return
	}
	t.Error("the tool is not mounted")
}

func TestProgressOfAServer(t *testing.T) {
	t.Parallel()
	g := newGate(t, pythonServer(t))
	if res := g.call("test__progress", nil); !res.OK {
		t.Fatalf("progress = %+v", res)
	}
	var got []string
	for _, p := range g.progress {
		got = append(got, p.Message)
		if p.Percent == nil || p.Audience != sallyport.AudienceUser {
			t.Errorf("progress %+v, want a percentage for the user", p)
		}
	}
	if strings.Join(got, ",") != "step 1,step 2,step 3" {
		t.Errorf("progress = %q", got)
	}
}

// TestEachPrincipalHasAProcess: a principal never sees what the server
// remembers for another, unless the operator says so.
func TestEachPrincipalHasAProcess(t *testing.T) {
	t.Parallel()
	count := func(g *gate, principal, role string) string {
		return inside(g.callAs(t.Context(), principal, role, "test__count", object{}))
	}
	for _, shared := range []bool{false, true} {
		s := pythonServer(t)
		s.Shared = shared
		g := newGate(t, s)
		first, again, other := count(g, "ann", "some"), count(g, "ann", "some"), count(g, "bob", "some")
		if !strings.HasPrefix(first, "1 in ") || !strings.HasPrefix(again, "2 in ") {
			t.Errorf("shared %v: the process of a principal counts %q, %q", shared, first, again)
		}
		if want := map[bool]string{false: "1 in ", true: "3 in "}[shared]; !strings.HasPrefix(other, want) {
			t.Errorf("shared %v: another principal counts %q, want %q…", shared, other, want)
		}
		// Another role has another grant, even if the server is shared.
		if got := count(g, "ann", "reads"); !strings.HasPrefix(got, "1 in ") {
			t.Errorf("shared %v: another role counts %q, want a process of its own", shared, got)
		}
	}
}

// TestAServerIsHeldToItsGrant: it reads what the role and its declaration have
// in common, and starts from an empty environment.
func TestAServerIsHeldToItsGrant(t *testing.T) {
	t.Setenv("SALLYPORT_TEST_SECRET", "of the runtime")
	s := pythonServer(t)
	s.Capabilities.FSReach = &sallyport.FSCapability{Read: sallyport.FromPersonality()}
	s.Env = map[string]string{"ASKED": "yes"}
	g := newGate(t, s)
	if err := os.WriteFile(filepath.Join(g.workspace, "note"), []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(role, path string) sallyport.Result {
		return g.callAs(t.Context(), "ann", role, "test__read", object{"path": path})
	}
	if res := read("reads", filepath.Join(g.workspace, "note")); !res.OK || inside(res) != "a note" {
		t.Errorf("a file within reach = %+v", res)
	}
	if res := read("some", filepath.Join(g.workspace, "note")); res.OK {
		t.Errorf("a file of another role = %+v, want a failure", res)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("private"), 0o644); err != nil {
		t.Fatal(err)
	}
	if res := read("reads", outside); res.OK {
		t.Errorf("a file out of reach = %+v, want a failure", res)
	}
	env := inside(g.callAs(t.Context(), "ann", "reads", "test__env", object{}))
	if !strings.Contains(env, "ASKED") || strings.Contains(env, "SALLYPORT") {
		t.Errorf("the environment of a server is %q, want what is declared and nothing of the runtime", env)
	}
}

// TestA1_AServerIsShownTheFolderThatIsThere recreates a granted folder, as a
// build does, and then replaces it by a link.
func TestA1_AServerIsShownTheFolderThatIsThere(t *testing.T) {
	t.Parallel()
	s := pythonServer(t)
	s.Capabilities.FSReach = &sallyport.FSCapability{Read: sallyport.FromPersonality()}
	g := newGate(t, s)
	data := g.workspace
	read := func() string {
		return inside(g.callAs(t.Context(), "ann", "reads", "test__read", object{"path": filepath.Join(data, "note")}))
	}
	renew := func(text string) {
		t.Helper()
		if err := errors.Join(os.Rename(data, data+"."+text), os.Mkdir(data, 0o755), os.WriteFile(filepath.Join(data, "note"), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(data, "note"), []byte("first"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "first" {
		t.Fatalf("read %q", got)
	}
	renew("second")
	if got := read(); got != "first" {
		t.Errorf("a process that has just begun reads %q, want it to go on", got)
	}
	g.mounts.LeaveNoTime()
	if got := read(); got != "second" {
		t.Errorf("the next call reads %q, want what is there", got)
	}
	if err := errors.Join(os.Rename(data, data+".gone"), os.Symlink("/etc", data)); err != nil {
		t.Fatal(err)
	}
	if got := inside(g.callAs(t.Context(), "ann", "reads", "test__read", object{"path": filepath.Join(data, "hostname")})); strings.TrimSpace(got) == hostname(t) {
		t.Errorf("through a link the server reads %q", got)
	}
}

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestAServerThatDies harms its call, and the next one works.
func TestAServerThatDies(t *testing.T) {
	t.Parallel()
	g := newGate(t, pythonServer(t))
	for _, tool := range []string{"test__die", "test__flood"} {
		if res := g.call(tool, nil); res.OK || res.Code != sallyport.CodeExecutionFailed {
			t.Errorf("%s = %+v, want a failure", tool, res)
		}
		if res := g.call("test__echo", object{"text": "again"}); !res.OK {
			t.Errorf("after %s = %+v, want it to work", tool, res)
		}
	}
}

// TestACallThatIsCancelled ends for its caller, and the server goes on.
func TestACallThatIsCancelled(t *testing.T) {
	t.Parallel()
	g := newGate(t, pythonServer(t))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if res := g.callAs(ctx, "ann", "some", "test__sleep", object{"seconds": 1}); res.OK {
		t.Errorf("a cancelled call = %+v, want a failure", res)
	}
	if res := g.call("test__echo", object{"text": "still here"}); !res.OK {
		t.Errorf("after it = %+v", res)
	}
}

// TestAServerThatStopsReading can be given up and ended, however much it is
// sent.
func TestAServerThatStopsReading(t *testing.T) {
	t.Parallel()
	g := newGate(t, pythonServer(t))
	if res := g.call("test__echo", nil); !res.OK {
		t.Fatalf("before = %+v", res)
	}
	give := func(tool string, args object) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if res := g.callAs(ctx, "ann", "some", tool, args); res.OK {
			t.Errorf("%s = %+v, want a failure", tool, res)
		}
	}
	give("test__sleep", object{"seconds": 600})
	give("test__echo", object{"text": strings.Repeat("x", 1<<20)})
	closed := make(chan error)
	go func() { closed <- g.mounts.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the end of the mounts waits for a server that reads nothing")
	}
}

// TestAServerThatCannotStart harms no other server, and says why.
func TestAServerThatCannotStart(t *testing.T) {
	t.Parallel()
	other := pythonServer(t, "--no-start")
	other.Name = "other"
	g := newGate(t, pythonServer(t), other)
	found := false
	for _, left := range g.left {
		found = found || strings.Contains(left, "MCP server other did not start") && strings.HasSuffix(left, "; it says: it cannot start")
	}
	if !found {
		t.Errorf("left out: %q, want the server that cannot start", g.left)
	}
	if res := g.call("test__echo", object{"text": "fine"}); !res.OK {
		t.Errorf("the other server = %+v", res)
	}
}

func TestNewRefusesWhatIsNoServer(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]upstream.Server{
		"no name":       {Command: []string{"true"}},
		"two names":     {Name: "a__b", Command: []string{"true"}},
		"long":          {Name: strings.Repeat("a", 41), Command: []string{"true"}},
		"blank":         {Name: "a b", Command: []string{"true"}},
		"no way":        {Name: "a"},
		"two ways":      {Name: "a", Command: []string{"true"}, URL: "https://a.example/mcp"},
		"negative time": {Name: "a", Command: []string{"true"}, Timeout: -1},
	} {
		if _, err := upstream.New([]upstream.Server{s}, nil); err == nil {
			t.Errorf("%s: New(%+v) succeeded", name, s)
		}
	}
}
