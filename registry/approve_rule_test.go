package registry_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/store/memory"
)

// ruleBook is a state with held calls and rules that several gates share.
type ruleBook struct {
	t     *testing.T
	store sallyport.ApprovalStore
	rules *approvals.Rules
}

func newRuleBook(t *testing.T) *ruleBook {
	t.Helper()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &ruleBook{t, state.Approvals(), approvals.NewRules(state.Settings(), state.Approvals(), nil)}
}

// wire makes a gate use the rules.
func (b *ruleBook) wire(o *registry.Options) { o.UseApprovalRule = b.rules.Use }

// give gives the rule for a held call.
func (b *ruleBook) give(id string, equal ...string) {
	b.t.Helper()
	a, err := b.store.Get(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := approvals.ProposeRule(&a, equal)
	if err == nil {
		err = b.rules.Give(b.t.Context(), *r, approvals.DeciderNamed("boss"), "")
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestWhatARuleIsBoundTo gives a rule for a call, whole and for one argument,
// changes a fact, and makes the call again.
func TestWhatARuleIsBoundTo(t *testing.T) {
	t.Parallel()
	read := func(paths ...string) func(*sallyport.Tool) {
		return func(tool *sallyport.Tool) {
			tool.Capabilities.FSReach = &sallyport.FSCapability{Read: sallyport.Paths(paths...)}
		}
	}
	reach := func(paths ...string) func(*sallyport.Personality) {
		return func(p *sallyport.Personality) { p.FSReach = &sallyport.Reach{Read: paths} }
	}
	attach := func(tool *sallyport.Tool) {
		tool.Capabilities.Attachments = &sallyport.AttachmentsCapability{All: true}
	}
	with := func(refs ...string) func(*sallyport.Caller) {
		return func(c *sallyport.Caller) {
			for _, ref := range refs {
				c.Attachments = append(c.Attachments, sallyport.Attachment{Ref: ref, Kind: sallyport.KindFile, Name: "n"})
			}
		}
	}
	process := func(tool *sallyport.Tool) {
		tool.Capabilities.Process = &sallyport.ProcessCapability{AllowedBinaries: []string{"git"}}
	}
	database := func(tool *sallyport.Tool) {
		tool.Capabilities.Database = &sallyport.DatabaseCapability{Connections: []string{"main"}}
	}
	server := func(revision string) func(*sallyport.Tool) {
		return func(tool *sallyport.Tool) { tool.Revision = revision }
	}
	type side struct {
		args   string
		role   func(*sallyport.Personality)
		tool   func(*sallyport.Tool)
		caller func(*sallyport.Caller)
		level  sallyport.Level
		target string
	}
	const first = `{"to":"a","n":1}`
	tests := []struct {
		name          string
		before, after side
		whole, some   bool // whether the rule, whole or for "to", covers the call after the change
		ends          bool // whether the rule is over once the change was seen
	}{
		{name: "nothing", whole: true, some: true},
		{name: "the bound argument", after: side{args: `{"to":"b","n":1}`}},
		{name: "the free argument", after: side{args: `{"to":"a","n":2}`}, some: true},
		{name: "type of the free argument", after: side{args: `{"to":"a","n":["x"]}`}, some: true},
		{name: "type of the bound argument", after: side{args: `{"to":["a"],"n":1}`}},
		{name: "spelling of an argument", after: side{args: `{"to":"\u0061","n":1.0}`}, whole: true, some: true},
		{name: "order of arguments", after: side{args: `{"n":1,"to":"a"}`}, whole: true, some: true},
		{name: "a further argument", after: side{args: `{"to":"a","n":1,"bcc":"e"}`}},
		{name: "an argument less", after: side{args: `{"to":"a"}`}},
		{name: "null for an argument", after: side{args: `{"to":null,"n":1}`}},
		{name: "another form of the same letter", after: side{args: `{"to":"\u00e1","n":1}`}, before: side{args: `{"to":"a\u0301","n":1}`}},
		{name: "a name with an invisible character", after: side{args: `{"to\u200b":"a","n":1}`}},
		{name: "a name in another case", after: side{args: `{"To":"a","n":1}`}},
		{name: "definition", after: side{tool: func(tool *sallyport.Tool) { tool.Description = "other" }}, ends: true},
		{name: "server, handler", before: side{tool: server("one")}, after: side{tool: server("two")}, ends: true},
		{
			name: "grant", before: side{tool: read("/a", "/b"), role: reach("/a")},
			after: side{tool: read("/a", "/b"), role: reach("/b")}, ends: true,
		},
		{
			name: "a narrower grant", before: side{tool: read("/a", "/b"), role: reach("/a", "/b")},
			after: side{tool: read("/a", "/b"), role: reach("/a")}, ends: true,
		},
		{
			name: "confinement", before: side{tool: process, level: sallyport.LevelFull},
			after: side{tool: process, level: sallyport.LevelNone}, ends: true,
		},
		{
			name: "what a name stands for", before: side{tool: database, target: "server a"},
			after: side{tool: database, target: "server b"}, ends: true,
		},
		{name: "a target that cannot be told", before: side{tool: database, target: "server a"}, after: side{tool: database}, ends: true},
		{name: "principal", after: side{caller: func(c *sallyport.Caller) { c.Principal.Name = "other" }}},
		{name: "principal and session run together", after: side{caller: func(c *sallyport.Caller) {
			c.Principal.Name, c.Session = "tester/s1", ""
		}}},
		{name: "personality", after: side{
			role: func(p *sallyport.Personality) { p.Name = "other" }, caller: func(c *sallyport.Caller) { c.Personality = "other" },
		}},
		{name: "workspace", after: side{caller: func(c *sallyport.Caller) { c.Workspace = "/elsewhere" }}},
		{name: "memory scope", after: side{caller: func(c *sallyport.Caller) { c.MemoryScope = "m" }}},
		{name: "session", after: side{caller: func(c *sallyport.Caller) { c.Session = "s2" }}},
		{name: "session that looks alike", after: side{caller: func(c *sallyport.Caller) { c.Session = "s1\u200b" }}},
		{name: "no session", after: side{caller: func(c *sallyport.Caller) { c.Session = "" }}},
		{name: "surface", after: side{caller: func(c *sallyport.Caller) { c.Platform = sallyport.PlatformMCP }}, whole: true, some: true},
		{name: "attachment", before: side{tool: attach, caller: with("r1:A")}, after: side{tool: attach, caller: with("r1:B")}},
		{name: "a further attachment", before: side{tool: attach, caller: with("r1:A")}, after: side{tool: attach, caller: with("r1:A", "r2:A")}},
		{name: "no attachment", before: side{tool: attach, caller: with("r1:A")}, after: side{tool: attach}},
		{
			name: "ref of an attachment", before: side{tool: attach, caller: with("r1:A")},
			after: side{tool: attach, caller: with("r2:A")}, whole: true, some: true,
		},
	}
	for _, tt := range tests {
		for _, equal := range [][]string{nil, {"to"}} {
			t.Run(tt.name+" "+strings.Join(equal, ""), func(t *testing.T) {
				book, workspace, home := newRuleBook(t), t.TempDir(), t.TempDir()
				make := func(s side) (*desk, sallyport.Result) {
					names := &named{}
					if s.target != "" {
						names.lead(s.target)
					}
					d := newDeskOf(t, asking(func(p *sallyport.Personality) {
						p.Process = []string{"git"}
						if s.role != nil {
							s.role(p)
						}
					}), book.store, &sallyport.Backends{
						Files: &sallyport.FileBackend{Home: home}, Attachments: texts{}, Secrets: fixedSecrets{}, Databases: names,
						Network: &sallyport.NetworkBackend{}, Process: &scopedtest.Runner{Level: s.level},
					}, book.wire)
					d.hold(s.tool)
					caller := d.caller()
					caller.Workspace = workspace
					if s.caller != nil {
						s.caller(caller)
					}
					args := s.args
					if args == "" {
						args = first
					}
					return d, d.Call(t.Context(), caller, sallyport.Request{Tool: "held", Args: json.RawMessage(args)})
				}
				_, res := make(tt.before)
				if res.Code != sallyport.CodeApprovalRequired {
					t.Fatalf("Call() = %+v, want it held", res)
				}
				book.give(res.ApprovalID, equal...)
				want := tt.whole
				if equal != nil {
					want = tt.some
				}
				if d, res := make(tt.after); res.OK != want || d.ran.Load() == 1 != want || !want && res.Code != sallyport.CodeApprovalRequired {
					t.Errorf("after the change Call() = %s %q, want it to run: %t", res.Code, res.Error, want)
				}
				if d, res := make(tt.before); res.OK == tt.ends || d.ran.Load() == 1 == tt.ends {
					t.Errorf("changed back Call() = %s %q, want the rule ended: %t", res.Code, res.Error, tt.ends)
				}
			})
		}
	}
}

func TestARuleLetsAWaitingCallGoOn(t *testing.T) {
	t.Parallel()
	book := newRuleBook(t)
	d := newDeskOf(t, asking(func(p *sallyport.Personality) { p.Approvals.Wait = time.Hour }), book.store, &sallyport.Backends{}, book.wire)
	d.hold(nil)
	waits := make(chan struct{})
	caller := d.caller()
	caller.Progress = func(sallyport.Progress) { close(waits) }
	go func() {
		<-waits
		book.give(d.one().ID)
	}()
	res := d.Call(t.Context(), caller, sallyport.Request{Tool: "held"})
	if !res.OK || d.ran.Load() != 1 {
		t.Fatalf("Call() = %+v after %d runs, want it to run", res, d.ran.Load())
	}
	d.want("", "", 2)
	if all, err := d.store.List(t.Context(), false); len(all) != 0 || err != nil {
		t.Errorf("List() = %+v, %v, want nothing held or approved", all, err)
	}
	last := d.recorder.events[len(d.recorder.events)-1].Decisions
	said := ""
	for _, decision := range last {
		said += decision.Why
	}
	if !strings.Contains(said, "allowed for the session by boss (rule ") || !strings.Contains(said, ", run 2 of 100)") {
		t.Errorf("the record says %q", said)
	}
}

// TestDefaultsBelongToTheShape gives a rule for a call whose argument the schema
// fills in.
func TestDefaultsBelongToTheShape(t *testing.T) {
	t.Parallel()
	book := newRuleBook(t)
	d := newDeskOf(t, asking(nil), book.store, &sallyport.Backends{}, book.wire)
	d.hold(func(tool *sallyport.Tool) {
		tool.Schema = json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"copies":{"type":"integer","default":1}}}`)
	})
	book.give(d.want(`{"to":"a"}`, sallyport.CodeApprovalRequired, 0).ApprovalID, "copies")
	d.want(`{"to":"b","copies":1}`, "", 1)
	d.want(`{"to":"b","copies":2}`, sallyport.CodeApprovalRequired, 1)
	d.want(`{"copies":1}`, sallyport.CodeApprovalRequired, 1)
}

// TestWhatCannotBeShownHasNoRule names arguments and sessions that a person would
// see as others.
func TestWhatCannotBeShownHasNoRule(t *testing.T) {
	t.Parallel()
	many := map[string]int{}
	for n := range 33 {
		many[strings.Repeat("n", n+1)] = n
	}
	tooMany, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		session, args string
		want          bool
	}{
		"plain":                  {"s", `{"to":"a","t\u043e":"b"}`, true},
		"no arguments":           {"s", `{}`, true},
		"an invisible character": {"s", `{"to\u200b":"a"}`, false},
		"a turned direction":     {"s", `{"\u202eot":"a"}`, false},
		"a secret":               {"s", `{"hunter2-Zq9xY7w":"a"}`, false},
		"a long name":            {"s", `{"` + strings.Repeat("n", 65) + `":1}`, false},
		"many arguments":         {"s", string(tooMany), false},
		"no session":             {"", `{}`, false},
		"an invisible session":   {"s\u200b", `{}`, false},
		"a secret session":       {"hunter2-Zq9xY7w", `{}`, false},
		"a long session":         {strings.Repeat("s", 257), `{}`, false},
	} {
		d := newDesk(t, asking(nil))
		d.hold(nil)
		caller := d.caller()
		caller.Session = tt.session
		res := d.Call(t.Context(), caller, sallyport.Request{Tool: "held", Args: json.RawMessage(tt.args)})
		a, err := d.store.Get(t.Context(), res.ApprovalID)
		if err != nil || (a.Shape != nil) != tt.want {
			t.Errorf("%s: Call() = %s, shape %v, %v, want one: %t", name, res.Code, a.Shape, err, tt.want)
		}
	}
}
