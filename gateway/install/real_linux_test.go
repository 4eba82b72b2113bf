package install_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/registry"
)

// TestRealServer installs a server of npm from its registry, mounts it from
// the store and calls it.
func TestRealServer(t *testing.T) {
	t.Parallel()
	needs.NPM(t, "an MCP server")
	needs.Programs(t, "npm", "node", "tar")
	p := placeOver(t, network("registry.npmjs.org:443"), nil)
	asked, _, _ := install.Parse([]string{"npx", "-y", "@modelcontextprotocol/server-everything"})
	if newest, err := asked.Resolved(p.gate(p.store.Resolve(asked))); err != nil {
		t.Errorf("Resolve = %v, %v", newest, err)
	}
	pkg, args, err := install.Parse([]string{"npx", "-y", "@modelcontextprotocol/server-everything@2026.8.31", "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	i := p.install(pkg)
	installed := time.Since(start)
	start = time.Now()
	o := p.open(i)
	t.Logf("%s in %v, opened in %v: %s %s", pkg, installed, time.Since(start), i.Digest, i.Integrity)
	m, err := upstream.New([]upstream.Server{{
		Name: "everything", Command: append(o.Command, args...), Programs: []string{o.Folder},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if res := p.gate(m.Discovery()[0]); !res.OK {
		t.Fatalf("the server does not say what it offers: %+v", res)
	}
	tools, _ := m.Tools()
	p.backends.Personalities = everybody{}
	r, err := registry.New(p.backends, &registry.Options{Workspace: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	if err := r.Register(tools...); err != nil {
		t.Fatal(err)
	}
	res := r.Call(t.Context(), &sallyport.Caller{
		Principal: sallyport.Principal{Name: "local"}, Personality: "any", Workspace: p.dir, Platform: sallyport.PlatformGo,
	}, sallyport.Request{Tool: "mcp__everything__echo", Args: []byte(`{"message":"from the store"}`)})
	if !res.OK || !strings.Contains(res.Value, "from the store") {
		t.Errorf("echo = %+v", res)
	}
}

// everybody is a role that may write the workspace, in which the store lies.
type everybody struct{}

func (everybody) Personality(name string) (*sallyport.Personality, bool) {
	return &sallyport.Personality{Name: name, MCPServers: []string{"everything"}}, true
}
