package registry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/delegation"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/registry"
)

// agents is a gate whose tool "task" hands its call over to the test, which then is a
// sub-agent until it lets the call go.
type agents struct {
	*gate
	book *delegation.Book
	// calls carries the calls of task, release ends them.
	calls   chan *sallyport.Call
	release chan struct{}
}

func newAgents(t *testing.T, p *sallyport.Personality) *agents {
	t.Helper()
	a := &agents{
		gate: &gate{t: t, recorder: &recorder{}, role: p.Name}, book: delegation.NewBook(),
		calls: make(chan *sallyport.Call, 10), release: make(chan struct{}),
	}
	var err error
	a.Registry, err = registry.New(&sallyport.Backends{Personalities: one{p}}, &registry.Options{Recorder: a.recorder, Delegations: a.book})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	a.add(sallyport.Tool{Name: "pay", Schema: schema, Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		r := sallyport.OK(c.Session + " as " + c.Personality)
		r.CostUSD = 1
		return r, nil
	}})
	a.add(sallyport.Tool{Name: "read", Schema: schema, Run: echo})
	a.add(sallyport.Tool{Name: "web", Schema: schema, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		r := sallyport.OK("read")
		r.Untrusted = true
		return r, nil
	}})
	a.add(sallyport.Tool{Name: "send", Schema: schema, Does: []sallyport.Effect{effect.Outward}, Run: echo})
	a.add(sallyport.Tool{Name: "wait", Schema: schema, Run: func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
		<-ctx.Done()
		return sallyport.Result{}, ctx.Err()
	}})
	a.add(sallyport.Tool{Name: "task", Schema: schema, Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		a.calls <- c
		<-a.release
		return sallyport.OK("done"), nil
	}})
	return a
}

// delegate lets a caller call task, and returns a sub-agent of that call.
func (a *agents) delegate(caller *sallyport.Caller, terms delegation.Terms) (*delegation.Delegation, *sallyport.Caller) {
	a.t.Helper()
	go a.Call(context.Background(), caller, sallyport.Request{Tool: "task"})
	if terms.Until.IsZero() {
		terms.Until = time.Now().Add(time.Hour)
	}
	d, err := a.book.Begin(context.Background(), <-a.calls, terms, false)
	if err != nil {
		a.t.Fatal(err)
	}
	return d, &sallyport.Caller{Principal: d.Principal, Session: "another", Personality: "another", Platform: sallyport.PlatformMCP}
}

func (a *agents) end() { close(a.release) }

func (a *agents) ask(caller *sallyport.Caller, tool, args string) sallyport.Result {
	return a.Call(context.Background(), caller, sallyport.Request{Tool: tool, Args: json.RawMessage(args)})
}

// A sub-agent has the intersection of everything on the way to it, in the session and the
// role of its caller, whatever its client says.
func TestASubAgentHoldsNoMoreThanItsCaller(t *testing.T) {
	t.Parallel()
	a := newAgents(t, &sallyport.Personality{
		Name: "role", Toolset: []string{"pay", "read", "task"},
		Arguments: map[string]json.RawMessage{"pay": json.RawMessage(`{"n":{"maximum":9}}`)},
	})
	defer a.end()
	wide := delegation.Terms{Calls: 100, Arguments: map[string]json.RawMessage{"pay": json.RawMessage(`{"n":{"maximum":1000}}`)}}
	d, outer := a.delegate(a.caller(), wide)
	narrow := delegation.Terms{Calls: 100, Tools: []string{"pay", "wait"}, Arguments: map[string]json.RawMessage{"pay": json.RawMessage(`{"n":{"maximum":5}}`)}}
	_, inner := a.delegate(outer, narrow)
	for _, c := range []struct {
		name       string
		who        *sallyport.Caller
		tool, args string
		want       sallyport.Code
	}{
		{"within", outer, "pay", `{"n":9}`, ""},
		{"above the role's ceiling", outer, "pay", `{"n":10}`, sallyport.CodePermissionDenied},
		{"outside of the role", outer, "wait", `{}`, sallyport.CodeNotAvailable},
		{"within the inner one", inner, "pay", `{"n":5}`, ""},
		{"above the inner ceiling", inner, "pay", `{"n":6}`, sallyport.CodePermissionDenied},
		{"not delegated", inner, "read", `{}`, sallyport.CodeNotAvailable},
		{"delegated, but not the role's", inner, "wait", `{}`, sallyport.CodeNotAvailable},
	} {
		if res := a.ask(c.who, c.tool, c.args); res.Code != c.want {
			t.Errorf("%s: %s(%s) = %+v, want code %q", c.name, c.tool, c.args, res, c.want)
		}
	}
	if res := a.ask(outer, "pay", `{}`); res.Value != "s1 as role" {
		t.Errorf("the sub-agent called in %q, want the session and the role of its caller", res.Value)
	}
	// A task of its own client narrows its call, and nothing else.
	own := *outer
	own.Task = &sallyport.Task{Words: "pay 9", Tools: []string{"read"}}
	if res := a.ask(&own, "pay", `{}`); res.Code != sallyport.CodeNotAvailable {
		t.Errorf("a call beside its own task = %+v", res)
	}
	if res := a.ask(a.caller(), "pay", `{}`); !res.OK {
		t.Errorf("the caller after a task of its sub-agent = %+v, want it as before", res)
	}
	if list := a.List(inner); len(list) != 1 || list[0].Name != "pay" {
		t.Errorf("List() = %+v, want pay alone", list)
	}
	if list := a.List(outer); len(list) != 3 {
		t.Errorf("List() = %d tools, want those of the role", len(list))
	}
	if e := a.recorder.last(); e.DelegatedBy != "" {
		t.Errorf("the caller's own call is recorded as delegated by %q", e.DelegatedBy)
	}
	a.ask(inner, "pay", `{}`)
	if e := a.recorder.last(); strings.Count(e.DelegatedBy, "/") != 1 || !strings.HasPrefix(e.DelegatedBy, d.ID) || e.Principal != "tester" || string(e.Session) != "s1" {
		t.Errorf("recorded as delegated by %q, principal %s, session %s", e.DelegatedBy, e.Principal, e.Session)
	}
}

// A budget holds for a delegation and all under it. The call that is one too many is
// refused for good: no rate limit, which would pass.
func TestABudgetEndsATask(t *testing.T) {
	t.Parallel()
	a := newAgents(t, &sallyport.Personality{Name: "role"})
	defer a.end()
	_, outer := a.delegate(a.caller(), delegation.Terms{Calls: 5})
	_, inner := a.delegate(outer, delegation.Terms{Calls: 100}) // The call of task is the first.
	for range 4 {
		if res := a.ask(inner, "read", `{}`); !res.OK {
			t.Fatalf("a call within the budget = %+v", res)
		}
	}
	for _, who := range []*sallyport.Caller{inner, outer} {
		if res := a.ask(who, "read", `{}`); res.Code != sallyport.CodePermissionDenied || res.Error != "Permission denied: the task has made its 5 calls" {
			t.Errorf("the call after the last one = %+v", res)
		}
	}
	_, dear := a.delegate(a.caller(), delegation.Terms{Calls: 100, CostUSD: 2})
	for i, want := range []sallyport.Code{"", "", sallyport.CodePermissionDenied} {
		if res := a.ask(dear, "pay", `{}`); res.Code != want {
			t.Errorf("paid call %d = %+v, want code %q", i+1, res, want)
		}
	}
	// What a call that did not come to an end cost is not known: the most counts. While it
	// runs, another one has no room beside it.
	a.add(sallyport.Tool{Name: "dear", MaxCostUSD: 1.5, Schema: json.RawMessage(`{"type":"object"}`), Run: func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
		<-ctx.Done()
		return sallyport.Result{}, ctx.Err()
	}})
	spent, slow := a.delegate(a.caller(), delegation.Terms{Calls: 100, CostUSD: 2})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan sallyport.Result, 1)
	go func() { ended <- a.Call(ctx, slow, sallyport.Request{Tool: "dear"}) }()
	for _, aside := spent.Used(); aside == 0; _, aside = spent.Used() {
		time.Sleep(time.Millisecond)
	}
	if res := a.ask(slow, "dear", `{}`); res.Code != sallyport.CodePermissionDenied || !strings.Contains(res.Error, "the task has 0.5 of its 2 US dollars left") {
		t.Errorf("a call beside one that took the budget = %+v", res)
	}
	cancel()
	<-ended
	if _, cost := spent.Used(); cost != 1.5 {
		t.Errorf("a call that was cancelled cost %g, want 1.5", cost)
	}
	if res := a.ask(slow, "read", `{}`); !res.OK {
		t.Errorf("a free call = %+v", res)
	}
	if _, cost := spent.Used(); cost != 1.5 {
		t.Errorf("after a free call the task has spent %g, want 1.5", cost)
	}
	// What is refused counts, too: a flood ends by itself.
	d, bad := a.delegate(a.caller(), delegation.Terms{Calls: 3})
	for range 10 {
		a.ask(bad, "read", `{"n":"no"}`)
	}
	if calls, _ := d.Used(); calls != 3 {
		t.Errorf("%d calls counted, want 3", calls)
	}
	if res := a.ask(bad, "read", `{}`); res.Code != sallyport.CodePermissionDenied {
		t.Errorf("after a flood = %+v", res)
	}
}

// With a delegation ends everything under it: what runs, what would run, and what would be
// listed.
func TestTheEndOfATaskEndsItsSubtree(t *testing.T) {
	t.Parallel()
	a := newAgents(t, &sallyport.Personality{Name: "role"})
	defer a.end()
	d, outer := a.delegate(a.caller(), delegation.Terms{Calls: 100})
	_, inner := a.delegate(outer, delegation.Terms{Calls: 100})
	runs := make(chan sallyport.Result, 2)
	for _, who := range []*sallyport.Caller{outer, inner} {
		go func() { runs <- a.ask(who, "wait", `{}`) }()
	}
	for calls := 0; calls < 3; calls, _ = d.Used() {
		time.Sleep(time.Millisecond)
	}
	d.End()
	for range 2 {
		if res := <-runs; res.OK || !strings.Contains(res.Error, "the task for which it was made is over") {
			t.Errorf("what ran = %+v, want it ended", res)
		}
	}
	for _, who := range []*sallyport.Caller{outer, inner} {
		if res := a.ask(who, "read", `{}`); res.Code != sallyport.CodePermissionDenied || res.Error != "Permission denied: the task is over" {
			t.Errorf("after the end = %+v", res)
		}
		if list := a.List(who); len(list) != 0 {
			t.Errorf("after the end it sees %d tools", len(list))
		}
	}
	late, who := a.delegate(a.caller(), delegation.Terms{Calls: 100, Until: time.Now().Add(50 * time.Millisecond)})
	<-late.Context().Done()
	if res := a.ask(who, "read", `{}`); res.Code != sallyport.CodePermissionDenied {
		t.Errorf("after its time = %+v", res)
	}
	forged := *a.caller()
	forged.Principal.Delegation = "no such call"
	if res := a.ask(&forged, "read", `{}`); res.Code != sallyport.CodePermissionDenied {
		t.Errorf("under a delegation that there is not = %+v", res)
	}
}

// What was read counts for the caller and its sub-agent alike, in both directions.
func TestDelegationLaundersNoTaint(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"down", "up"} {
		a := newAgents(t, &sallyport.Personality{Name: "role", Flow: sallyport.Flow{Refuse: []string{"send"}}})
		_, sub := a.delegate(a.caller(), delegation.Terms{Calls: 100})
		reads, sends := a.caller(), sub
		if name == "up" {
			reads, sends = sub, a.caller()
		}
		if res := a.ask(sends, "send", `{}`); !res.OK {
			t.Fatalf("%s: before anything was read = %+v", name, res)
		}
		if res := a.ask(reads, "web", `{}`); !res.OK {
			t.Fatal(res.Error)
		}
		if res := a.ask(sends, "send", `{}`); res.Code != sallyport.CodePermissionDenied {
			t.Errorf("%s: after the other one read untrusted content = %+v, want it refused", name, res)
		}
		a.end()
	}
}
