package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

// desk is a kit whose personality holds every call of something named held. It
// keeps the decisions.
type desk struct {
	*kit
	sallyport.ApprovalStore
	ran  atomic.Int32
	role *sallyport.Personality

	mu      sync.Mutex
	decided []decision
	broken  error // error of every decision

	news string // of every call; empty for none
}

// News says what is new about a held call.
func (d *desk) News(context.Context, *sallyport.Approval) []string {
	if d.news == "" {
		return nil
	}
	return []string{d.news}
}

// decision is one decision made at the desk.
type decision struct {
	By, Reason string
	Approve    bool
}

// Decide keeps a decision and passes it to the store.
func (d *desk) Decide(ctx context.Context, id, by string, approve bool, reason string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return d.broken
	}
	d.decided = append(d.decided, decision{by, reason, approve})
	return d.ApprovalStore.Decide(ctx, id, by, approve, reason)
}

// decisions returns the decisions since the last call.
func (d *desk) decisions() []decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.decided
	d.decided = nil
	return out
}

// roles is a set of one personality.
type roles struct{ p *sallyport.Personality }

func (r roles) Personality(name string) (*sallyport.Personality, bool) { return r.p, name == r.p.Name }

func newDesk(t *testing.T, edit func(*sallyport.Approvals)) *desk {
	t.Helper()
	d := &desk{ApprovalStore: memory.NewApprovals(nil), kit: &kit{record: &record{}, started: make(chan string, 10), ended: make(chan error, 10)}}
	d.role = &sallyport.Personality{Name: "role", Approvals: &sallyport.Approvals{
		Require: []string{"held", "other"}, Wait: 50 * time.Millisecond,
	}}
	if edit != nil {
		edit(d.role.Approvals)
	}
	var err error
	d.registry, err = registry.New(&sallyport.Backends{
		Personalities: roles{d.role}, Secrets: known{"a/key": "hunter2-Zq9xY7w"},
	}, &registry.Options{Recorder: d.record, Workspace: t.TempDir(), Approvals: d.ApprovalStore})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.registry.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := d.registry.Register(d.heldTools()...); err != nil {
		t.Fatal(err)
	}
	if d.Server, err = gateway.New(d.registry, &gateway.Options{Version: "v1.2.3", Personality: "role", Desk: d}); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) heldTools() []sallyport.Tool {
	run := func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		d.ran.Add(1)
		return sallyport.OK("ran with " + string(c.Args)), nil
	}
	part := func(kind sallyport.PartKind) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		return func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			d.ran.Add(1)
			return sallyport.Result{OK: true, Parts: []sallyport.Part{{Kind: kind, Role: sallyport.RoleUser, Text: "ran", URI: "test://held"}}}, nil
		}
	}
	anything := json.RawMessage(`{"type":"object"}`)
	return []sallyport.Tool{
		{Name: "held", Description: "Is held.", Schema: anything, Run: run},
		{Name: "other", Description: "Is held, too.", Schema: anything, Run: run},
		{Name: "free", Description: "Is not held.", Schema: anything, Run: run},
		{Name: "mcp__a__b", Description: "Brings the words of others.", Schema: anything, Run: run},
		{
			Name: "held", Form: sallyport.FormPrompt, Description: "A prompt that is held.", Run: part(sallyport.PartText),
			Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`),
		},
		{
			Name: "held", Form: sallyport.FormResource, Description: "A resource that is held.", Run: part(sallyport.PartResource),
			Resources: []sallyport.Resource{{URI: "test://held", Name: "held"}},
		},
	}
}

// known maps secrets to their values.
type known map[string]string

func (k known) Secret(_ context.Context, ref string) (sallyport.Secret, bool, error) {
	v, ok := k[ref]
	return sallyport.NewSecret(v), ok, nil
}

func (k known) Known(context.Context) ([]sallyport.Secret, error) {
	var out []sallyport.Secret
	for _, v := range k {
		out = append(out, sallyport.NewSecret(v))
	}
	return out, nil
}

// eachDesk runs a test with the official client for each surface and
// generation. The test chooses the answers of the client's person.
func eachDesk(t *testing.T, test func(t *testing.T, d *desk, connect func(answer func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientSession)) {
	for _, version := range versions {
		for _, surface := range []string{"http/", "stdio/"} {
			t.Run(surface+version, func(t *testing.T) {
				d := newDesk(t, nil)
				transport := func() mcp.Transport {
					s, _ := d.stdio(t)
					return &mcp.IOTransport{Reader: s.out, Writer: s.in}
				}
				if strings.HasPrefix(surface, "http") {
					site := d.site(t)
					transport = func() mcp.Transport {
						return &mcp.StreamableClientTransport{Endpoint: site.URL + "/mcp", HTTPClient: client(t, "alice")}
					}
				}
				test(t, d, func(answer func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientSession {
					o := &mcp.ClientOptions{}
					if answer != nil {
						o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
							return answer(r.Params)
						}
					}
					return open(t, version, o, transport())
				})
			})
		}
	}
}
