package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// TestARuleLiftsNothingButTheQuestion gives a rule with a free argument and makes
// calls that it covers and that something else refuses.
func TestARuleLiftsNothingButTheQuestion(t *testing.T) {
	t.Parallel()
	network := func(tool *sallyport.Tool) {
		tool.Capabilities.Network = &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}
		tool.Touches = []sallyport.Touch{{Capability: "network", Argument: "url"}}
	}
	hosts := func(p *sallyport.Personality) {
		p.Network = &sallyport.NetworkPolicy{Allow: []string{"*"}, Deny: []string{"bad.example"}}
	}
	for _, tt := range []struct {
		name       string
		role       func(*sallyport.Personality)
		tool       func(*sallyport.Tool)
		good, then string // a call that runs, and the one that is refused
		code       sallyport.Code
	}{
		{
			"the tool's schema", nil,
			func(tool *sallyport.Tool) {
				tool.Schema = json.RawMessage(`{"type":"object","properties":{"to":{},"amount":{"maximum":10}}}`)
			},
			`{"to":"a","amount":9}`, `{"to":"a","amount":11}`, sallyport.CodeInputInvalid,
		},
		{
			"deny", hosts, network,
			`{"to":"a","url":"https://good.example/"}`, `{"to":"a","url":"https://bad.example/"}`, sallyport.CodeExecutionFailed,
		},
		{
			"the floor", hosts, network,
			`{"to":"a","url":"https://good.example/"}`, `{"to":"a","url":"http://169.254.169.254/"}`, sallyport.CodeExecutionFailed,
		},
		{
			"a limit", nil,
			func(tool *sallyport.Tool) { tool.RateLimit = &sallyport.RateLimit{Requests: 2, Window: time.Hour} },
			`{"to":"a","n":1}`, `{"to":"a","n":2}`, sallyport.CodeRateLimited,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			book := newRuleBook(t)
			d := newDeskOf(t, asking(tt.role), book.store, &sallyport.Backends{Network: &sallyport.NetworkBackend{}}, book.wire,
				func(o *registry.Options) { o.Limiter = &rings{} })
			d.hold(tt.tool)
			book.give(d.want(tt.good, sallyport.CodeApprovalRequired, 0).ApprovalID, "to")
			d.want(tt.good, "", 1)
			d.want(tt.then, tt.code, 1)
		})
	}
}

func TestARuleDoesNotLiftAStop(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"principal tester", "session tester/s1", "tool held"} {
		book, stops := newRuleBook(t), &thrown{}
		d := newDeskOf(t, asking(nil), book.store, &sallyport.Backends{}, book.wire, func(o *registry.Options) { o.Switches = stops })
		d.hold(nil)
		book.give(d.want("", sallyport.CodeApprovalRequired, 0).ApprovalID)
		d.want("", "", 1)
		stops.throw(nil, what)
		if res := call(d.gate, "held", ""); res.OK || d.ran.Load() != 1 {
			t.Errorf("with %s stopped Call() = %+v, want it refused", what, res)
		}
	}
}

// TestARuleIsForWhatHeldTheCall gives rules before and after something untrusted
// was read: the first does not count after it, and a rule that refuses beats
// both.
func TestARuleIsForWhatHeldTheCall(t *testing.T) {
	t.Parallel()
	book := newRuleBook(t)
	role := asking(func(p *sallyport.Personality) { p.MCPServers, p.Flow.Approve = []string{"trivia"}, []string{"held"} })
	d := newDeskOf(t, role, book.store, &sallyport.Backends{}, book.wire)
	d.hold(nil)
	d.add(sallyport.Tool{Name: "mcp__trivia__fact", Run: echo, Schema: open})
	book.give(d.want(`{"to":"a","n":1}`, sallyport.CodeApprovalRequired, 0).ApprovalID, "to")
	d.want(`{"to":"a","n":2}`, "", 1)
	book.give(d.want(`{"whole":1}`, sallyport.CodeApprovalRequired, 1).ApprovalID)
	if res := call(d.gate, "mcp__trivia__fact", ""); !res.OK {
		t.Fatalf("Call(mcp__trivia__fact) = %+v", res)
	}
	d.want(`{"whole":1}`, sallyport.CodeApprovalRequired, 1)
	held := d.want(`{"to":"a","n":1}`, sallyport.CodeApprovalRequired, 1)
	a, err := d.store.Get(t.Context(), held.ApprovalID)
	if err != nil || !a.Shape.Exact {
		t.Fatalf("the held call = %+v, %v, want no free arguments", a, err)
	}
	book.give(held.ApprovalID)
	d.want(`{"to":"a","n":1}`, "", 2)
	d.want(`{"to":"a","n":2}`, sallyport.CodeApprovalRequired, 2)

	stricter := *role
	stricter.Flow.Refuse = slices.Clone(role.Flow.Approve)
	d.roles.p.Store(&stricter)
	d.want(`{"to":"a","n":1}`, sallyport.CodePermissionDenied, 2)
}

// failRule says yes and fails.
func failRule(context.Context, *sallyport.Approval) (string, bool, error) {
	return "allowed", true, errors.New("broken")
}

// TestRulesThatFailHoldTheCall breaks what answers about rules.
func TestRulesThatFailHoldTheCall(t *testing.T) {
	t.Parallel()
	book := newRuleBook(t)
	d := newDeskOf(t, asking(nil), book.store, &sallyport.Backends{}, func(o *registry.Options) { o.UseApprovalRule = failRule })
	d.hold(nil)
	d.want("", sallyport.CodeApprovalRequired, 0)
}
