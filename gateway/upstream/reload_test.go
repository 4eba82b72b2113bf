package upstream_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/lock"
)

// grants returns a function that describes the grant of every server in a role.
func grants(text string) func(server, role string) string {
	return func(_, role string) string { return role + text }
}

// tellProcesses makes a script answer with the number of the process.
func tellProcesses(s *script) {
	s.answer = func(p *peer, _ *question) any { return text(fmt.Sprint("process ", p.number)) }
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAServerSurvivesAReload when its declaration and its grant are the same.
func TestAServerSurvivesAReload(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "server.py")
	save(t, file, "something")
	for _, tt := range []struct {
		name    string
		program string
		change  func(d *upstream.Server)
		grant   string
		goes    bool
		another func(s *script)
	}{
		{name: "nothing changed", goes: true},
		{name: "what concerns single calls", change: func(d *upstream.Server) { d.Permissions, d.Sources = nil, map[string]string{"": "b.yaml:7:1"} }, goes: true},
		{name: "what it offers", another: func(s *script) { s.list(tool("a"), tool("more")) }, goes: true},
		{name: "its environment", change: func(d *upstream.Server) { d.Env = map[string]string{"A": "b"} }},
		{name: "its capabilities", change: func(d *upstream.Server) {
			d.Capabilities.Network = &sallyport.NetworkCapability{AllowedHosts: []string{"a.example"}}
		}},
		{name: "the role's grant", grant: " is smaller now"},
		{name: "a script that changed", program: "server.py", another: func(*script) { save(t, file, "something else") }},
		{name: "a script that cannot be read", program: "nowhere.py"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, tool("a"))
			tellProcesses(s)
			d := upstream.Server{Name: "test", Command: []string{"scripted"}, Sources: map[string]string{"": "a.yaml:1:1"}}
			if tt.program != "" {
				d.Programs = []string{filepath.Join(filepath.Dir(file), tt.program)}
			}
			workspace := t.TempDir()
			open := func(o *upstream.Options) *gate {
				return newGateIn(t, workspace, &sallyport.Backends{Process: s, Network: &sallyport.NetworkBackend{}}, o, d)
			}
			before := open(&upstream.Options{Grant: grants("")})
			was := inside(before.call("test__a", nil))
			if tt.change != nil {
				tt.change(&d)
			}
			if tt.another != nil {
				tt.another(s)
			}
			after := open(&upstream.Options{Grant: grants(tt.grant), Previous: before.mounts})
			if got := inside(before.call("test__a", nil)); got != was {
				t.Errorf("a call under the configuration before = %q, want %q", got, was)
			}
			if got := after.callAs(t.Context(), "ann", "some", "test__a", object{}); (inside(got) == was) != tt.goes {
				t.Errorf("a call after the reload = %+v, before %q; want the same process %v", got, was, tt.goes)
			}
			if err := before.mounts.Close(); err != nil {
				t.Error(err)
			}
			if n := s.alive(); n != 1 {
				t.Errorf("%d processes after the configuration before was closed, want one", n)
			}
			if res := before.call("test__a", nil); res.OK || !strings.Contains(res.Error, "stopping") {
				t.Errorf("a call of what is closed = %+v", res)
			}
			if got := after.call("test__a", nil); !got.OK {
				t.Errorf("a call after that = %+v", got)
			}
			if tt.goes && tt.another != nil {
				if res := after.call("test__more", nil); inside(res) != was {
					t.Errorf("what is offered since the start = %+v, want it mounted by the reload", res)
				}
			}
			if err := after.mounts.Close(); err != nil || s.alive() != 0 {
				t.Errorf("Close() = %v, %d processes are left", err, s.alive())
			}
		})
	}
}

// newReload returns a gate that has called the server, and a function that
// opens the next one in the same workspace.
func newReload(t *testing.T, s *script) (open func(*upstream.Options) *gate, before *gate) {
	t.Helper()
	workspace := t.TempDir()
	open = func(o *upstream.Options) *gate {
		return newGateIn(t, workspace, &sallyport.Backends{Process: s}, o, upstream.Server{Name: "test", Command: []string{"scripted"}})
	}
	before = open(&upstream.Options{Grant: grants("")})
	if res := before.call("test__a", nil); !res.OK {
		t.Fatal(res.Error)
	}
	return open, before
}

// TestAReloadIsNoAmnesty: a process that goes on is listed again before the
// next configuration calls it.
func TestAReloadIsNoAmnesty(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	calls := callsOf(s)
	open, before := newReload(t, s)
	after := open(&upstream.Options{Grant: grants(""), Previous: before.mounts})
	s.list(tool("a", object{"title": "x"}))
	if res := after.call("test__a", nil); res.Code != sallyport.CodeNotAvailable || calls("a") != 1 {
		t.Errorf("the first call after the reload = %+v, %d calls reached the server", res, calls("a"))
	}
}

// TestAChangeDuringAReload is not lost between the listing of the server and
// the mounting of its tools.
func TestAChangeDuringAReload(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	calls := callsOf(s)
	open, before := newReload(t, s)
	var once sync.Once
	after := open(&upstream.Options{Grant: grants(""), Previous: before.mounts, CheckDefinition: func(string, lock.Kind, json.RawMessage) (bool, string) {
		// The server is listed while the tools are being mounted.
		once.Do(func() {
			s.list(tool("a", object{"title": "x"}))
			s.announce()
			before.call("test__a", nil)
		})
		return true, ""
	}})
	if res := after.call("test__a", nil); res.Code != sallyport.CodeNotAvailable || calls("a") != 1 {
		t.Errorf("the first call after the reload = %+v, %d calls reached the server", res, calls("a"))
	}
}

// TestAReloadThatIsRejected leaves the current configuration unchanged.
func TestAReloadThatIsRejected(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	tellProcesses(s)
	before := scripted(t, s, &upstream.Options{Grant: grants("")})
	was := inside(before.call("test__a", nil))
	after := scripted(t, s, &upstream.Options{Grant: grants(""), Previous: before.mounts})
	if err := after.mounts.Close(); err != nil {
		t.Error(err)
	}
	if got := inside(before.call("test__a", nil)); got != was || s.alive() != 1 {
		t.Errorf("a call after it = %q, before %q; %d processes", got, was, s.alive())
	}
	if _, err := upstream.New(nil, &upstream.Options{Previous: before.mounts}); err == nil {
		t.Error("New() takes over processes without knowing their grants")
	}
}
