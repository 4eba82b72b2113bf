package registry_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

// flows is a gate with the tools of the attacks: what reads, what brings
// the words of others, and what carries out.
type flows struct {
	*gate
	approvals sallyport.ApprovalStore
	role      *sallyport.Personality
	ran       map[string]*atomic.Int32
}

// during, when a tool's arguments name it, runs while the tool does.
type during struct {
	begun, end chan struct{}
}

// host is a capability that reaches one.
func host(name string) *sallyport.NetworkCapability {
	return &sallyport.NetworkCapability{AllowedHosts: []string{name}}
}

// attackTools are those of a private repository, of a stranger's issue, and the
// ways out.
func attackTools() []sallyport.Tool {
	account := sallyport.Capabilities{Network: host("api.github.example"), Secrets: []string{"github/token"}}
	return []sallyport.Tool{
		{Name: "read_file", ReadOnly: true, Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}}},
		{Name: "write_file", Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Write: sallyport.Paths("${workspace}")}}},
		{Name: "export", Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Write: sallyport.Paths("${home}")}}},
		{Name: "fetch_url", ReadOnly: true, Cache: &sallyport.Cache{}, Capabilities: sallyport.Capabilities{Network: host("docs.example")}},
		{Name: "send", Toolset: "out", Capabilities: sallyport.Capabilities{Network: host("api.example")}},
		{Name: "note", Toolset: "out"},
		{Name: "upload", Capabilities: sallyport.Capabilities{
			FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}, Network: host("api.example"),
		}},
		{Name: "mcp__github__get_file", SaysReadOnly: true, Capabilities: account},
		{Name: "mcp__github__create_pr", Capabilities: account},
		{Name: "mcp__trivia__fact"},
		{Name: "mcp__files__edit", Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{
			Read: sallyport.FromPersonality(), Write: sallyport.Paths("${workspace}"),
		}}},
		{Name: "mcp__postmark__send", Capabilities: sallyport.Capabilities{Network: host("api.postmark.example")}},
	}
}

func newFlows(t *testing.T, facts sallyport.FactStore, edit func(*sallyport.Personality)) *flows {
	t.Helper()
	return wireFlows(t, edit, func(o *registry.Options) { o.Facts = facts })
}

func wireFlows(t *testing.T, edit func(*sallyport.Personality), wire func(*registry.Options)) *flows {
	t.Helper()
	work, outside := t.TempDir(), t.TempDir()
	p := &sallyport.Personality{
		Name: "role", MCPServers: []string{"github", "trivia", "postmark", "files"}, Approvals: &sallyport.Approvals{},
		FSReach: &sallyport.Reach{Read: []string{work}, Write: []string{work, outside}},
		Sources: map[string]string{"": "sallyport.yaml:3:3", "safety.flow": "sallyport.yaml:9:7"},
	}
	if edit != nil {
		edit(p)
	}
	f := &flows{
		gate: &gate{t: t, recorder: &recorder{}, role: p.Name}, role: p,
		approvals: memory.NewApprovals(nil), ran: map[string]*atomic.Int32{},
	}
	o := &registry.Options{Recorder: f.recorder, Workspace: work, Approvals: f.approvals, Variables: map[string]string{"home": outside}}
	wire(o)
	var err error
	f.Registry, err = registry.New(&sallyport.Backends{
		Personalities: one{p}, Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()},
		Secrets: fixedSecrets{"github/token": "hunter2-Zq9xY7w"},
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, tool := range attackTools() {
		ran := &atomic.Int32{}
		f.ran[tool.Name] = ran
		tool.Schema = open
		tool.Run = func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
			ran.Add(1)
			if d, ok := ctx.Value(during{}).(*during); ok {
				close(d.begun)
				<-d.end
			}
			return sallyport.OK("ran with " + passedOn), nil
		}
		f.add(tool)
	}
	return f
}

// passedOn is what the tools answer, and are called with: what one reads is in the
// arguments of the next.
const passedOn = "what-was-read"

// by makes a call of a principal in a session.
func (f *flows) by(principal, session, tool string) sallyport.Result {
	c := f.caller()
	c.Principal.Name, c.Session, c.Platform = principal, session, sallyport.PlatformMCP
	return f.Call(f.t.Context(), c, sallyport.Request{Tool: tool, Args: json.RawMessage(`{"n":"` + passedOn + `"}`)})
}

// let makes calls that must run.
func (f *flows) let(principal, session string, tools ...string) {
	f.t.Helper()
	for _, tool := range tools {
		before := f.ran[tool].Load()
		if res := f.by(principal, session, tool); !res.OK || f.ran[tool].Load() == before && tool != "fetch_url" {
			f.t.Fatalf("%s of %s in %s = %+v, want it to run", tool, principal, session, res)
		}
	}
}

// stop makes a call that must be refused with a code, and not run.
func (f *flows) stop(principal, session, tool string, code sallyport.Code) sallyport.Result {
	f.t.Helper()
	before := f.ran[tool].Load()
	res := f.by(principal, session, tool)
	if res.OK || res.Code != code || f.ran[tool].Load() != before {
		f.t.Fatalf("%s of %s in %s = %+v, want %s and no run", tool, principal, session, res, code)
	}
	return res
}

func (f *flows) hold(principal, session, tool string) sallyport.Result {
	f.t.Helper()
	return f.stop(principal, session, tool, sallyport.CodeApprovalRequired)
}
