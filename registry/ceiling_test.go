package registry_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/registry"
)

// capped is a gate with one tool, "send", under a role with a ceiling over it.
type capped struct {
	*gate
	ran atomic.Int32
}

// newCapped returns a gate whose tool has a schema. No ceiling means no entry.
func newCapped(t *testing.T, schema, ceiling string, edits ...func(*sallyport.Personality, *sallyport.Tool, *registry.Options)) *capped {
	t.Helper()
	p := &sallyport.Personality{Name: "role", Approvals: &sallyport.Approvals{}}
	if ceiling != "" {
		p.Arguments = map[string]json.RawMessage{"send": json.RawMessage(ceiling)}
	}
	sets, err := known.New(map[string]known.Source{
		"contacts": {Kind: effect.Mail, List: []string{"ann@example.com"}},
		"friends":  {Kind: effect.Mail, List: []string{"Bob@Example.COM"}},
		"payees":   {Kind: effect.Account, List: []string{"DE02 1203 0000 0000 2020 51"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &capped{gate: &gate{t: t, recorder: &recorder{}, role: p.Name}}
	tool := sallyport.Tool{
		Name: "send", Schema: json.RawMessage(schema), Destinations: map[string]sallyport.ValueKind{"to": effect.Mail},
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			l.ran.Add(1)
			return sallyport.OK("sent"), nil
		},
	}
	o := &registry.Options{Recorder: l.recorder, Workspace: t.TempDir(), Known: sets}
	for _, edit := range edits {
		edit(p, &tool, o)
	}
	if l.Registry, err = registry.New(&sallyport.Backends{Personalities: one{p}, Network: &sallyport.NetworkBackend{}}, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	l.add(tool)
	return l
}

// want calls the tool, and compares the code and whether it ran.
func (l *capped) want(args string, code sallyport.Code) sallyport.Result {
	l.t.Helper()
	before := l.ran.Load()
	res := call(l.gate, "send", args)
	if ran := l.ran.Load() > before; res.Code != code || ran != (code == "") {
		l.t.Errorf("send %.200s = %q %.200s, ran %v, want %q", args, res.Code, res.Error, ran, code)
	}
	return res
}

const (
	within  sallyport.Code = ""
	outside                = sallyport.CodePermissionDenied
	held                   = sallyport.CodeApprovalRequired
	invalid                = sallyport.CodeInputInvalid
)

// amounts is the schema of a tool with an amount; bounded has one of its own.
const (
	amounts = `{"type":"object","properties":{"amount":{"type":"number"}}}`
	bounded = `{"type":"object","properties":{"amount":{"type":"number","maximum":100}}}`
	units   = `{"type":"object","properties":{"unit":{"enum":["c","f"]}}}`
	mails   = `{"type":"object","properties":{"to":{"type":"string"},"cc":{"type":"array","items":{"type":"string"}}}}`
)

// TestTheGrantOfArguments is the table of what a role leaves of arguments.
func TestTheGrantOfArguments(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, schema, ceiling string
		calls                 map[string]sallyport.Code
	}{
		{"a bound", amounts, `{"amount":{"maximum":500}}`, map[string]sallyport.Code{
			`{"amount":500}`: within, `{"amount":500.01}`: outside, `{"amount":5e2}`: within, `{"amount":1e400}`: invalid, `{}`: within,
		}},
		{"a bound above which calls are held", amounts, `{"amount":{"maximum":500,"else":"hold"}}`, map[string]sallyport.Code{
			`{"amount":500}`: within, `{"amount":501}`: held,
		}},
		{"a bound of the tool that is narrower", bounded, `{"amount":{"maximum":500}}`, map[string]sallyport.Code{
			`{"amount":100}`: within, `{"amount":101}`: invalid, `{"amount":501}`: invalid,
		}},
		{"a bound of the role that is narrower", bounded, `{"amount":{"maximum":50}}`, map[string]sallyport.Code{
			`{"amount":50}`: within, `{"amount":51}`: outside, `{"amount":101}`: invalid,
		}},
		{"two lists", units, `{"unit":{"enum":["c","k"]}}`, map[string]sallyport.Code{
			`{"unit":"c"}`: within, `{"unit":"f"}`: outside, `{"unit":"k"}`: invalid,
		}},
		{"a set", mails, `{"to":{"known":"contacts"}}`, map[string]sallyport.Code{
			`{"to":"ann@example.com"}`: within, `{"to":"ANN@example.com"}`: within, `{"to":"Ann <ann@example.com>"}`: outside, `{"to":"eve@example.com"}`: outside, `{"to":""}`: within, `{}`: within,
			`{"to":"ann@example.com, eve@example.com"}`: outside, `{"to":"ann@example.com.evil.example"}`: outside,
		}},
		{"a set outside of which calls are held", mails, `{"to":{"known":"contacts","else":"hold"}}`, map[string]sallyport.Code{
			`{"to":"ann@example.com"}`: within, `{"to":"eve@example.com"}`: held,
		}},
		{"the union of two sets", mails, `{"cc":{"known":["contacts","friends"]}}`, map[string]sallyport.Code{
			`{"cc":["ann@example.com","bob@example.com"]}`: within, `{"cc":["ann@example.com","eve@example.com"]}`: outside, `{"cc":[]}`: within,
		}},
		{"no entry", amounts, "", map[string]sallyport.Code{`{"amount":1000000}`: within}},
		{"an empty entry", amounts, `{}`, map[string]sallyport.Code{`{"amount":1000000}`: within}},
		{"true", amounts, `true`, map[string]sallyport.Code{`{"amount":1000000}`: within}},
		{"false", amounts, `false`, map[string]sallyport.Code{`{"amount":1}`: sallyport.CodeNotAvailable, `{}`: sallyport.CodeNotAvailable}},
		{"a schema of all arguments", amounts, `{"type":"object","required":["amount"],"properties":{"amount":{"minimum":1}}}`, map[string]sallyport.Code{
			`{"amount":1}`: within, `{"amount":0}`: outside, `{}`: outside,
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l := newCapped(t, row.schema, row.ceiling)
			for args, code := range row.calls {
				l.want(args, code)
			}
		})
	}
}

// TestTheTextsOfACeiling: what the caller reads names the argument and nothing of the
// rule, and what the operator reads ends in the edit.
func TestTheTextsOfACeiling(t *testing.T) {
	t.Parallel()
	l := newCapped(t, mails, `{"to":{"known":"contacts"},"cc":{"known":"payees","else":"hold"}}`, func(p *sallyport.Personality, _ *sallyport.Tool, _ *registry.Options) {
		p.Sources = map[string]string{"arguments.send.to": "sallyport.yaml:9:5", "arguments.send.cc": "sallyport.yaml:10:5"}
	})
	res := l.want(`{"to":"eve@example.com"}`, outside)
	if res.Error != "Argument /to of send is outside the role's ceiling" {
		t.Errorf("Error = %q", res.Error)
	}
	e := l.recorder.last()
	d := e.Decisions[len(e.Decisions)-1]
	if d.Source != "sallyport.yaml:9:5" || d.Resource != "/to" || d.Fix != "add the value to known.contacts, or change personalities.role.arguments.send.to" {
		t.Errorf("decision = %+v", d)
	}
	res = l.want(`{"cc":["12345678","87654321"]}`, held)
	if !strings.Contains(res.Error, " because argument /cc/0 is outside the role's ceiling: repeat") || strings.Contains(res.Error, "payees") || res.ApprovalID == "" {
		t.Errorf("held: %+v", res)
	}
}

// TestEveryCeilingThatMatchesCounts, whatever the order of their names.
func TestEveryCeilingThatMatchesCounts(t *testing.T) {
	t.Parallel()
	l := newCapped(t, amounts, `{"amount":{"maximum":500}}`, func(p *sallyport.Personality, tool *sallyport.Tool, _ *registry.Options) {
		tool.Toolset = "out"
		p.Arguments["*"] = json.RawMessage(`{"amount":{"minimum":5,"else":"hold"}}`)
		p.Arguments["@out"] = json.RawMessage(`{"amount":{"multipleOf":5},"other":{"maximum":1}}`)
		p.Arguments["@in"] = json.RawMessage(`{"amount":false}`)
		p.Arguments["mcp__bank__*"] = json.RawMessage(`false`)
	})
	for args, code := range map[string]sallyport.Code{
		`{"amount":5}`: within, `{"amount":505}`: outside, `{"amount":6}`: outside, `{"amount":0}`: held, `{"amount":1}`: outside,
		`{"amount":10,"other":1}`: within, `{"amount":10,"other":2}`: outside,
	} {
		l.want(args, code)
	}
}

// TestDefaultsAndDryRunsAreHeldToCeilings.
func TestDefaultsAndDryRunsAreHeldToCeilings(t *testing.T) {
	t.Parallel()
	l := newCapped(t, `{"type":"object","properties":{"amount":{"type":"number","default":600}}}`, `{"amount":{"maximum":500}}`)
	l.want(`{}`, outside)
	c := l.caller()
	c.DryRun = true
	if res := l.Call(t.Context(), c, sallyport.Request{Tool: "send", Args: json.RawMessage(`{"amount":501}`)}); res.Code != outside {
		t.Errorf("a dry run = %+v, want %s", res, outside)
	}
	if res := l.Call(t.Context(), c, sallyport.Request{Tool: "send", Args: json.RawMessage(`{"amount":500}`)}); !res.OK || l.ran.Load() != 0 {
		t.Errorf("a dry run within = %+v, ran %d times", res, l.ran.Load())
	}
}

// TestADryRunSaysThatTheCallWouldBeHeld, for the operator.
func TestADryRunSaysThatTheCallWouldBeHeld(t *testing.T) {
	t.Parallel()
	l := newCapped(t, amounts, `{"amount":{"maximum":500,"else":"hold"}}`)
	c := l.caller()
	c.DryRun = true
	res := l.Call(t.Context(), c, sallyport.Request{Tool: "send", Args: json.RawMessage(`{"amount":501}`)})
	held := func(d sallyport.Decision) bool {
		return d.Step == sallyport.StepApprove && strings.HasPrefix(d.Why, "the call would be held: argument /amount is outside")
	}
	if !res.OK || !slices.ContainsFunc(l.recorder.last().Decisions, held) || strings.Contains(res.Value, "held") {
		t.Errorf("a dry run = %+v, recorded %+v", res, l.recorder.last().Decisions)
	}
}

// TestAHeldCallTellsEveryReason, and an approval that was given for fewer is none for it.
func TestAHeldCallTellsEveryReason(t *testing.T) {
	t.Parallel()
	l := newCapped(t, `{"type":"object","properties":{"to":{"type":"string"},"amount":{"type":"number"}}}`,
		`{"to":{"known":"contacts","else":"hold"},"amount":{"maximum":5,"else":"hold"}}`)
	l.want(`{"to":"eve@example.com","amount":6}`, held)
	all, err := l.Approvals().List(t.Context(), false)
	if err != nil || len(all) != 1 || !strings.Contains(all[0].Why, "argument /amount is outside") || !strings.Contains(all[0].Why, "argument /to is outside") {
		t.Fatalf("the held call says %+v, %v, want both arguments", all, err)
	}
}
