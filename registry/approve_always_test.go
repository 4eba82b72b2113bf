package registry_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/registry"
)

// allowAlways gives the exception for the only open request.
func (b *ruleBook) allowAlways(d *desk) {
	b.t.Helper()
	a := d.one()
	if err := b.rules.GiveException(b.t.Context(), *approvals.ProposeException(&a), approvals.DeciderNamed("boss"), "", 0); err != nil {
		b.t.Fatal(err)
	}
}

// newCeilingDesk is a gate with a ceiling over the tool "held" and a set of contacts.
func newCeilingDesk(t *testing.T, b *ruleBook, ceiling string, edit func(*sallyport.Personality)) *desk {
	t.Helper()
	sets, err := known.New(map[string]known.Source{"contacts": {Kind: "mail", List: []string{"ann@example.com"}}, "friends": {Kind: "mail"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := newDeskOf(t, asking(func(p *sallyport.Personality) {
		p.Approvals.Require = nil
		p.Arguments = map[string]json.RawMessage{"held": json.RawMessage(ceiling)}
		if edit != nil {
			edit(p)
		}
	}), b.store, &sallyport.Backends{}, b.wire, func(o *registry.Options) { o.Known = sets })
	d.hold(declareArguments)
	return d
}

// declareArguments declares the arguments that the ceilings name.
func declareArguments(tool *sallyport.Tool) {
	tool.Schema = json.RawMessage(`{"type":"object","properties":{"to":{},"n":{"type":"number"}}}`)
}

func TestAnExceptionLetsExactlyItsCallRun(t *testing.T) {
	t.Parallel()
	b := newRuleBook(t)
	d := newDeskOf(t, asking(nil), b.store, &sallyport.Backends{}, b.wire)
	d.hold(declareArguments)
	d.want(`{"to":"a"}`, sallyport.CodeApprovalRequired, 0)
	b.allowAlways(d)
	d.want(`{"to":"a"}`, "", 1)
	d.want(` {"to":"\u0061"}`, "", 2)
	if said := d.recorder.last(); !hasReason(said.Decisions, "allowed for always by boss") {
		t.Errorf("the record says %+v, want who allowed it", said.Decisions)
	}
	d.want(`{"to":"b"}`, sallyport.CodeApprovalRequired, 2)
	d.want(`{"to":"a","n":1}`, sallyport.CodeApprovalRequired, 2)
	other := asking(func(p *sallyport.Personality) {
		p.Arguments = map[string]json.RawMessage{"held": json.RawMessage(`{"n":{"maximum":5}}`)}
	})
	d.roles.p.Store(other)
	d.want(`{"to":"a"}`, sallyport.CodeApprovalRequired, 2)
}

func hasReason(list []sallyport.Decision, begins string) bool {
	for i := range list {
		if len(list[i].Why) >= len(begins) && list[i].Why[:len(begins)] == begins {
			return true
		}
	}
	return false
}

// TestAnExceptionLiftsNoRefusal that a ceiling says since.
func TestAnExceptionLiftsNoRefusal(t *testing.T) {
	t.Parallel()
	b := newRuleBook(t)
	d := newCeilingDesk(t, b, `{"n":{"maximum":5,"else":"hold"}}`, nil)
	d.want(`{"n":6}`, sallyport.CodeApprovalRequired, 0)
	b.allowAlways(d)
	d.want(`{"n":6}`, "", 1)
	refusing := newCeilingDesk(t, b, `{"n":{"maximum":5}}`, nil)
	refusing.want(`{"n":6}`, sallyport.CodePermissionDenied, 0)
}

// TestAHeldCallNamesTheValuesThatAloneHoldIt, so that a yes for always can add them.
func TestAHeldCallNamesTheValuesThatAloneHoldIt(t *testing.T) {
	t.Parallel()
	const one = `{"to":{"known":"contacts","else":"hold"}}`
	const two = `{"to":{"known":["contacts","friends"],"else":"hold"},"n":{"maximum":5,"else":"hold"}}`
	for _, tt := range []struct {
		name, ceiling, args string
		edit                func(*sallyport.Personality)
		want                map[string][]string
	}{
		{"one value", one, `{"to":"bob@example.com"}`, nil, map[string][]string{"bob@example.com": {"contacts"}}},
		{
			"values of a list", two, `{"to":["bob@example.com","ann@example.com","eve@example.com"]}`, nil,
			map[string][]string{"bob@example.com": {"contacts", "friends"}, "eve@example.com": {"contacts", "friends"}},
		},
		{"another bound too", two, `{"to":"bob@example.com","n":6}`, nil, nil},
		{"another bound alone", two, `{"n":6}`, nil, nil},
		{"the role asks for each call", one, `{"to":"bob@example.com"}`, func(p *sallyport.Personality) { p.Approvals.Require = []string{"held"} }, nil},
		{"a value that is not shown as it is", one, `{"to":"bob\u200b@example.com"}`, nil, nil},
		{"a value that is no text", one, `{"to":{"a":"b"}}`, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newCeilingDesk(t, newRuleBook(t), tt.ceiling, tt.edit)
			d.want(tt.args, sallyport.CodeApprovalRequired, 0)
			if got := d.one().Unknown; !maps.EqualFunc(got, tt.want, func(a, b []string) bool { return len(a) == len(b) && a[0] == b[0] }) {
				t.Errorf("Unknown = %v, want %v", got, tt.want)
			}
		})
	}
}

// TestATaskProposesNoMember: a client chooses its task, and so the set that it names.
func TestATaskProposesNoMember(t *testing.T) {
	t.Parallel()
	d := newCeilingDesk(t, newRuleBook(t), `{}`, nil)
	c := d.caller()
	c.Task = &sallyport.Task{Arguments: map[string]json.RawMessage{"held": json.RawMessage(`{"to":{"known":"contacts","else":"hold"}}`)}}
	res := d.Call(t.Context(), c, sallyport.Request{Tool: "held", Args: json.RawMessage(`{"to":"bob@example.com"}`)})
	if res.Code != sallyport.CodeApprovalRequired {
		t.Fatalf("Call() = %+v, want it held", res)
	}
	if got := d.one().Unknown; got != nil {
		t.Errorf("Unknown = %v, want none", got)
	}
}

// TestAYesCoversNoValueThatWasKnownThen: what leaves a set before the call runs again was
// not among the reasons that the person saw.
func TestAYesCoversNoValueThatWasKnownThen(t *testing.T) {
	t.Parallel()
	b := newRuleBook(t)
	path := filepath.Join(t.TempDir(), "friends")
	write := func(text string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	write("bob@example.com\n", time.Hour)
	sets, err := known.New(map[string]known.Source{"friends": {Kind: "mail", File: path}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := newDeskOf(t, asking(func(p *sallyport.Personality) {
		p.Approvals.Require = nil
		p.Arguments = map[string]json.RawMessage{"held": json.RawMessage(`{"to":{"items":{"known":"friends","else":"hold"}}}`)}
	}), b.store, &sallyport.Backends{}, b.wire, func(o *registry.Options) { o.Known = sets })
	d.hold(declareArguments)
	const args = `{"to":["zed@example.com","bob@example.com"]}`
	d.want(args, sallyport.CodeApprovalRequired, 0)
	d.decide(d.one().ID, true, "")
	write("", time.Minute)
	d.want(args, sallyport.CodeApprovalRequired, 0)
	write("bob@example.com\n", time.Second)
	d.want(args, "", 1)
}
