package registry_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/sums"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

// payments is a gate with a tool that pays, under a role with a ceiling. More are the
// properties of the tool and the name under which the ceiling stands.
func payments(t *testing.T, ceiling string, state *memory.Store, more ...string) (*gate, *atomic.Int32) {
	t.Helper()
	more = append(more, "", "")
	rule := cmp.Or(more[1], "pay")
	p := &sallyport.Personality{Name: "role", Approvals: &sallyport.Approvals{}, Arguments: map[string]json.RawMessage{rule: json.RawMessage(ceiling)}}
	g := &gate{t: t, recorder: &recorder{}, role: p.Name}
	var err error
	g.Registry, err = registry.New(&sallyport.Backends{Personalities: one{p}}, &registry.Options{
		Recorder: g.recorder, Sums: sums.New(state.Settings(), nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	paid := new(atomic.Int32)
	declared := cmp.Or(more[0], `{"to":{"type":"string"},"amount":{"type":"number"},"parts":{"type":"array","items":{"type":"number"}}}`)
	g.add(sallyport.Tool{
		Name:   "pay",
		Schema: json.RawMessage(`{"type":"object","properties":` + declared + `}`),
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			paid.Add(1)
			return sallyport.OK("paid"), nil
		},
	})
	return g, paid
}

func newState(t *testing.T) *memory.Store {
	t.Helper()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	return state
}

func TestASumBoundsAnArgumentOverItsWindow(t *testing.T) {
	t.Parallel()
	g, paid := payments(t, `{"amount":{"sum":{"max":500,"per":"1d","by":"to"}}}`, newState(t))
	for i, c := range []struct {
		args string
		code sallyport.Code
	}{
		{`{"to":"ann","amount":300}`, ""},
		{`{"to":"ann","amount":200.01}`, sallyport.CodePermissionDenied},
		{`{"to":"ann","amount":200}`, ""},
		{`{"to":"ann","amount":0.01}`, sallyport.CodePermissionDenied},
		{`{"to":"ben","amount":500}`, ""},
		{`{"to":"eve","amount":-5}`, sallyport.CodePermissionDenied},
		{`{"to":"eve","amount":1e400}`, sallyport.CodeInputInvalid},
		{`{"to":"eve","amount":1e300}`, sallyport.CodePermissionDenied},
		{`{"to":"eve"}`, ""},
	} {
		if res := call(g, "pay", c.args); res.Code != c.code {
			t.Errorf("%d: pay(%s) = %+v, want code %q", i, c.args, res, c.code)
		}
	}
	if n := paid.Load(); n != 4 {
		t.Errorf("%d payments, want 4", n)
	}
	if got, want := call(g, "pay", `{"to":"ann","amount":1}`).Error, "Argument /amount of pay is outside the role's ceiling"; got != want {
		t.Errorf("error = %q, want %q", got, want)
	}
}

// The calls of all tools of a rule count together, those of a rule for each tool do not.
func TestASumOfARuleOverSeveralTools(t *testing.T) {
	t.Parallel()
	for rule, code := range map[string]sallyport.Code{"*": sallyport.CodePermissionDenied, "pay": ""} {
		g, _ := payments(t, `{"amount":{"sum":{"max":500,"per":"1d"}}}`, newState(t), "", rule)
		g.add(sallyport.Tool{
			Name: "pay2", Schema: json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"}}}`),
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("paid"), nil },
		})
		if res := call(g, "pay", `{"amount":500}`); !res.OK {
			t.Fatalf("%s: pay(500) = %+v", rule, res)
		}
		if res := call(g, "pay2", `{"amount":500}`); res.Code != code {
			t.Errorf("%s: pay2(500) after pay(500) = %+v, want code %q", rule, res, code)
		}
	}
}

// A tool that takes anything and does not declare the argument of "by" has one sum.
func TestNoCallerChoosesTheSumThatItCountsFor(t *testing.T) {
	t.Parallel()
	g, _ := payments(t, `{"amount":{"sum":{"max":500,"per":"1d","by":"to"}}}`, newState(t), "", "*")
	g.add(sallyport.Tool{
		Name: "open", Schema: json.RawMessage(`{"type":"object","additionalProperties":true,"properties":{"amount":{"type":"number"}}}`),
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("paid"), nil },
	})
	if res := call(g, "open", `{"to":"ann","amount":400}`); !res.OK {
		t.Fatalf("open(400) = %+v", res)
	}
	if res := call(g, "open", `{"to":"ben","amount":400}`); res.Code != sallyport.CodePermissionDenied {
		t.Errorf("open(400) for another value = %+v, want it refused", res)
	}
}

// Parts of a list count together, and so do calls at once, of several processes.
func TestASumIsExact(t *testing.T) {
	t.Parallel()
	state := newState(t)
	const ceiling = `{"amount":{"sum":{"max":40,"per":"1d"}},"parts":{"items":{"sum":{"max":40,"per":"1d"}}}}`
	one, paid := payments(t, ceiling, state)
	two, alsoPaid := payments(t, ceiling, state)
	var wg sync.WaitGroup
	for i := range 60 {
		g := []*gate{one, two}[i%2]
		wg.Go(func() { call(g, "pay", fmt.Sprintf(`{"to":"p%d","amount":1}`, i)) })
	}
	wg.Wait()
	if n := paid.Load() + alsoPaid.Load(); n != 40 {
		t.Errorf("%d payments of 1 under a bound of 40", n)
	}
	if res := call(one, "pay", `{"to":"x","parts":[20,20,1]}`); res.Code != sallyport.CodePermissionDenied {
		t.Errorf("a list of 41 = %+v, want it refused", res)
	}
}

// A call that exceeds a sum is held where the role says so, and a yes lets that one call
// exceed it.
func TestASumHolds(t *testing.T) {
	t.Parallel()
	g, paid := payments(t, `{"amount":{"sum":{"max":5,"per":"1h"},"else":"hold"}}`, newState(t))
	res := call(g, "pay", `{"to":"ann","amount":6}`)
	if res.Code != sallyport.CodeApprovalRequired {
		t.Fatalf("pay(6) = %+v, want it held", res)
	}
	if err := g.Approvals().Decide(t.Context(), res.ApprovalID, "owner", true, ""); err != nil {
		t.Fatal(err)
	}
	if res := call(g, "pay", `{"to":"ann","amount":6}`); !res.OK || paid.Load() != 1 {
		t.Errorf("the approved call = %+v after %d payments", res, paid.Load())
	}
	if res := call(g, "pay", `{"to":"ann","amount":1}`); res.Code != sallyport.CodeApprovalRequired {
		t.Errorf("pay(1) = %+v, want it held: the sum is used up", res)
	}
}

// One who is paid is one, however the call spells the name.
func TestASumCountsOtherSpellingsTogether(t *testing.T) {
	t.Parallel()
	g, _ := payments(t, `{"amount":{"sum":{"max":500,"per":"1d","by":"to"}}}`, newState(t), `{"to":{},"amount":{"type":"number"}}`)
	for _, c := range []struct {
		args string
		code sallyport.Code
	}{
		{`{"to":"GB29 NWBK 6016","amount":300}`, ""},
		{`{"to":"gb29nwbk6016","amount":300}`, sallyport.CodePermissionDenied},
		{`{"to":"GB29-NWBK-6016","amount":300}`, sallyport.CodePermissionDenied},
		{`{"to":"GB29\u200bNWBK6016","amount":300}`, sallyport.CodePermissionDenied},
		{`{"to":["new","GB29 NWBK 6016"],"amount":300}`, sallyport.CodePermissionDenied},
		{`{"to":["new","GB29 NWBK 6016"],"amount":200}`, ""},
		{`{"to":"new","amount":301}`, sallyport.CodePermissionDenied},
		{`{"to":12,"amount":500}`, ""},
		{`{"to":"12","amount":1}`, sallyport.CodePermissionDenied},
		{`{"to":{"name":"a"},"amount":500}`, ""},
		{`{"to":{"name":"b"},"amount":1}`, sallyport.CodePermissionDenied},
		{`{"amount":1}`, sallyport.CodePermissionDenied},
	} {
		if res := call(g, "pay", c.args); res.Code != c.code {
			t.Errorf("pay %s = %q %s, want %q", c.args, res.Code, res.Error, c.code)
		}
	}
}
