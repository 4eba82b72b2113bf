package upstream_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/sandbox"
)

// pythonServer returns the server of testdata.
func pythonServer(t testing.TB, args ...string) upstream.Server {
	t.Helper()
	needs.Programs(t, "python3")
	script, err := filepath.Abs("testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	return upstream.Server{Name: "test", Command: append([]string{"python3", script}, args...), Programs: []string{script}}
}

type roles map[string]*sallyport.Personality

func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// gate is a registry with the tools of the servers.
type gate struct {
	*registry.Registry
	finder    *registry.Registry
	mounts    *upstream.Mounts
	t         testing.TB
	workspace string
	left      []string
	stopped   atomic.Bool // every principal

	mu       sync.Mutex
	progress []sallyport.Progress
}

func newGate(t testing.TB, servers ...upstream.Server) *gate {
	t.Helper()
	return newGateOver(t, &sallyport.Backends{Network: &sallyport.NetworkBackend{}}, servers...)
}

// newGateOver adds files and child processes to the given backends.
func newGateOver(t testing.TB, backends *sallyport.Backends, servers ...upstream.Server) *gate {
	t.Helper()
	children, err := sandbox.New(&sandbox.Options{Files: &sallyport.FileBackend{}, Network: &sallyport.NetworkBackend{}, Warm: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := children.Close(); err != nil {
			t.Error(err)
		}
	})
	backends.Files, backends.Process = &sallyport.FileBackend{}, children
	return newGateWith(t, backends, nil, servers...)
}

// newGateWith discovers the servers and registers what they offer.
func newGateWith(t testing.TB, backends *sallyport.Backends, o *upstream.Options, servers ...upstream.Server) *gate {
	t.Helper()
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return newGateIn(t, workspace, backends, o, servers...)
}

func newGateIn(t testing.TB, workspace string, backends *sallyport.Backends, o *upstream.Options, servers ...upstream.Server) *gate {
	t.Helper()
	if o == nil {
		o = &upstream.Options{}
	}
	cleaner, err := output.New(&output.Options{Secrets: []sallyport.Secret{sallyport.NewSecret("s3cr3t-value")}})
	if err != nil {
		t.Fatal(err)
	}
	o.Cleaner = cleaner
	m, err := upstream.New(servers, o)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{t: t, workspace: workspace, mounts: m}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	backends.Personalities = roles{
		"some":    {Name: "some", MCPServers: []string{"test", "other"}},
		"none":    {Name: "none"},
		"all":     {Name: "all", MCPServers: []string{"test", "test1", "test2", "test3", "test4", "test5", "test6", "test7", "test8"}},
		"offline": {Name: "offline", MCPServers: []string{"test"}, Network: &sallyport.NetworkPolicy{Allow: []string{}}},
		"reads":   {Name: "reads", MCPServers: []string{"test"}, FSReach: &sallyport.Reach{Read: []string{workspace}}},
	}
	for _, p := range backends.Personalities.(roles) {
		// These tests are not about what a conversation has read.
		p.Flow.AfterUntrustedPrivate = sallyport.FlowAllow
	}
	g.finder = g.open(backends)
	if err := g.finder.Register(m.Discovery()...); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if res := g.discover(s.Name); !res.OK {
			g.left = append(g.left, res.Error)
		}
	}
	tools, left := m.Tools()
	for _, l := range left {
		g.left = append(g.left, l.Server+": "+l.Tool+": "+l.Why)
	}
	g.Registry = g.open(backends)
	for _, tool := range tools {
		if err := g.Register(tool); err != nil {
			g.left = append(g.left, err.Error())
		}
	}
	return g
}

// discover asks a server what it offers.
func (g *gate) discover(server string) sallyport.Result {
	return g.finder.Call(g.t.Context(), &sallyport.Caller{
		Principal: sallyport.Principal{Name: "local"}, Personality: "some", Platform: sallyport.PlatformGo, Workspace: g.workspace,
	}, sallyport.Request{Tool: upstream.DiscoveryName(server)})
}

func (g *gate) open(b *sallyport.Backends) *registry.Registry {
	g.t.Helper()
	copied := *b
	r, err := registry.New(&copied, &registry.Options{Workspace: g.workspace, Switches: g})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			g.t.Error(err)
		}
	})
	return r
}

// Stopped is [registry.Switches].
func (g *gate) Stopped(context.Context, string, string, string) (kind, why string, err error) {
	if g.stopped.Load() {
		return "principal", "everything is stopped", nil
	}
	return "", "", nil
}

func (g *gate) callAs(ctx context.Context, principal, role, tool string, args any) sallyport.Result {
	g.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.Registry.Call(ctx, &sallyport.Caller{
		Principal: sallyport.Principal{Name: principal}, Session: "s", Personality: role, Platform: sallyport.PlatformGo,
		Workspace: g.workspace,
		Progress: func(p sallyport.Progress) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.progress = append(g.progress, p)
		},
	}, sallyport.Request{Tool: idOf(tool), Args: text})
}

// idOf returns the ID of "test__name", of "prompt:test__name" and so on.
func idOf(tool string) string {
	if form, name, ok := strings.Cut(tool, ":"); ok {
		return form + ":mcp__" + name
	}
	return "mcp__" + tool
}

type object map[string]any

// rawJSON is JSON that is sent unchanged.
type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func (g *gate) call(tool string, args object) sallyport.Result {
	g.t.Helper()
	if args == nil {
		args = object{}
	}
	return g.callAs(g.t.Context(), "ann", "some", tool, args)
}

// inside returns the text within the wrapper of untrusted output.
func inside(res sallyport.Result) string {
	text := res.Value + res.Error
	_, text, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, "\n</untrusted>")
	return text
}
