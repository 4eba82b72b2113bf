package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/store/memory"
)

func TestACallThatNeedsAnApprovalIsHeld(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asking(nil))
	d.hold(func(tool *sallyport.Tool) { tool.Cache = &sallyport.Cache{} })
	d.add(sallyport.Tool{Name: "free", Run: echo})
	res := d.want(`{"a":1}`, sallyport.CodeApprovalRequired, 0)
	a := d.one()
	if res.ApprovalID != a.ID || !res.ExpiresAt.Equal(a.Expires) || !strings.Contains(res.Error, "held requires explicit approval") {
		t.Errorf("Call() = %+v, want id and expiry of %+v", res, a)
	}
	if a.Tool != "held" || a.Args != `{"a":1}` || a.Principal != "tester" || a.Personality != "role" || a.CallID != res.CallID {
		t.Errorf("held as %+v, want the facts of the call", a)
	}
	e := d.recorder.last()
	last := e.Decisions[len(e.Decisions)-1]
	if e.Code != sallyport.CodeApprovalRequired || e.Stage != sallyport.StepApprove || last.Source != "sallyport.yaml:4:3" ||
		!strings.Contains(last.Why, a.ID) {
		t.Errorf("recorded %s at %s: %+v, want approval_required with its rule and id", e.Code, e.Stage, last)
	}
	if res := call(d.gate, "free", ""); !res.OK {
		t.Errorf("a call that is not held = %+v, want it to run", res)
	}
}

func TestAnApprovalIsUsedOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asking(nil))
	d.hold(nil)
	first := d.want(`{"a":1}`, sallyport.CodeApprovalRequired, 0)
	if again := d.want(`{ "a": 1.0 }`, sallyport.CodeApprovalRequired, 0); again.ApprovalID != first.ApprovalID {
		t.Errorf("a repeat was held as %s, want %s", again.ApprovalID, first.ApprovalID)
	}
	d.decide(first.ApprovalID, true, "fine")
	d.want(`{"a":1}`, "", 1)
	e := d.recorder.last()
	i := slices.IndexFunc(e.Decisions, func(x sallyport.Decision) bool { return x.Step == sallyport.StepApprove })
	if x := e.Decisions[i]; !x.Allowed || x.Why != "approved by boss (approval "+first.ApprovalID+"): fine" {
		t.Errorf("recorded %+v, want who approved and what", x)
	}
	if next := d.want(`{"a":1}`, sallyport.CodeApprovalRequired, 1); next.ApprovalID == first.ApprovalID {
		t.Error("a used approval was offered again")
	}
}

func TestConcurrentRepeatsShareOneRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asking(nil))
	d.hold(nil)
	d.want("", sallyport.CodeApprovalRequired, 0)
	d.decide(d.one().ID, true, "")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { call(d.gate, "held", "") })
	}
	wg.Wait()
	if n := d.ran.Load(); n != 1 {
		t.Errorf("one approval ran the tool %d times, want once", n)
	}
	d.one()
}

// TestWhatIsBound changes each thing that an approval is bound to, and some
// that it is not.
func TestWhatIsBound(t *testing.T) {
	t.Parallel()
	read := func(paths ...string) sallyport.Capabilities {
		return sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.Paths(paths...)}}
	}
	kept := func(scope sallyport.StorageScope) sallyport.Capabilities {
		return sallyport.Capabilities{Storage: &sallyport.StorageCapability{Scope: scope, Kind: "kv"}}
	}
	attaching := sallyport.Capabilities{Attachments: &sallyport.AttachmentsCapability{All: true}}
	with := func(refs ...string) func(*sallyport.Caller) {
		return func(c *sallyport.Caller) {
			for _, ref := range refs {
				c.Attachments = append(c.Attachments, sallyport.Attachment{Ref: ref, Kind: sallyport.KindFile, Name: "n"})
			}
		}
	}
	type side struct {
		args   string
		role   func(*sallyport.Personality)
		tool   func(*sallyport.Tool)
		caller func(*sallyport.Caller)
	}
	reach := func(paths ...string) func(*sallyport.Personality) {
		return func(p *sallyport.Personality) { p.FSReach = &sallyport.Reach{Read: paths} }
	}
	caps := func(c sallyport.Capabilities) func(*sallyport.Tool) {
		return func(tool *sallyport.Tool) { tool.Capabilities = c }
	}
	tests := []struct {
		name          string
		before, after side
		same          bool
	}{
		{name: "nothing", same: true},
		{name: "arguments", before: side{args: `{"a":1}`}, after: side{args: `{"a":2}`}},
		{name: "type of an argument", before: side{args: `{"a":1}`}, after: side{args: `{"a":"1"}`}},
		{name: "an empty argument", before: side{args: `{"a":null}`}, after: side{args: `{}`}},
		{name: "order of arguments", before: side{args: `{"a":1,"b":2}`}, after: side{args: `{"b":2,"a":1}`}, same: true},
		{name: "definition", after: side{tool: func(tool *sallyport.Tool) { tool.Description = "other" }}},
		{
			name:   "grant",
			before: side{tool: caps(read("/a", "/b")), role: reach("/a")},
			after:  side{tool: caps(read("/a", "/b")), role: reach("/b")},
		},
		{name: "lines of the configuration", same: true, before: side{
			tool: caps(read("/a", "/b")), role: reach("/a"),
		}, after: side{tool: caps(read("/a", "/b")), role: func(p *sallyport.Personality) {
			reach("/a")(p)
			p.Sources = map[string]string{"fs_reach.read": "sallyport.yaml:9:9"}
		}}},
		{name: "principal", after: side{caller: func(c *sallyport.Caller) { c.Principal.Name = "other" }}},
		{name: "personality", after: side{
			role: func(p *sallyport.Personality) { p.Name = "other" }, caller: func(c *sallyport.Caller) { c.Personality = "other" },
		}},
		{name: "workspace", after: side{caller: func(c *sallyport.Caller) { c.Workspace = "/elsewhere" }}},
		{name: "memory scope", after: side{caller: func(c *sallyport.Caller) { c.MemoryScope = "m" }}},
		{name: "session", same: true, after: side{caller: func(c *sallyport.Caller) { c.Session = "s2" }}},
		{
			name: "session of a store", before: side{tool: caps(kept(sallyport.ScopeSession))},
			after: side{tool: caps(kept(sallyport.ScopeSession)), caller: func(c *sallyport.Caller) { c.Session = "s2" }},
		},
		{name: "session of another store", same: true, before: side{tool: caps(kept(sallyport.ScopePersonality))}, after: side{
			tool: caps(kept(sallyport.ScopePersonality)), caller: func(c *sallyport.Caller) { c.Session = "s2" },
		}},
		{name: "surface", same: true, after: side{caller: func(c *sallyport.Caller) { c.Platform = sallyport.PlatformMCP }}},
		{
			name: "attachment", before: side{tool: caps(attaching), caller: with("r1:A")},
			after: side{tool: caps(attaching), caller: with("r1:B")},
		},
		{name: "ref of an attachment", same: true, before: side{tool: caps(attaching), caller: with("r1:A")}, after: side{
			tool: caps(attaching), caller: with("r2:A"),
		}},
		{
			name: "one more attachment", before: side{tool: caps(attaching), caller: with("r1:A")},
			after: side{tool: caps(attaching), caller: with("r1:A", "r2:A")},
		},
		{name: "attachment that the tool does not get", same: true, before: side{caller: with("r1:A")}, after: side{caller: with("r1:B")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store, workspace := memory.NewApprovals(nil), t.TempDir()
			make := func(s side) (*desk, sallyport.Result) {
				d := newDeskOf(t, asking(s.role), store, &sallyport.Backends{
					Files: &sallyport.FileBackend{Home: t.TempDir()}, KV: noKV{}, Attachments: texts{}, Secrets: fixedSecrets{},
				})
				d.hold(s.tool)
				caller := d.caller()
				caller.Workspace = workspace
				if s.caller != nil {
					s.caller(caller)
				}
				return d, d.Call(t.Context(), caller, sallyport.Request{Tool: "held", Args: json.RawMessage(s.args)})
			}
			d, res := make(tt.before)
			if res.Code != sallyport.CodeApprovalRequired {
				t.Fatalf("Call() = %+v, want it held", res)
			}
			d.decide(res.ApprovalID, true, "")
			d, res = make(tt.after)
			if ran := d.ran.Load() == 1; ran != tt.same || res.OK != tt.same {
				t.Errorf("after the change Call() = %s %q, ran = %v, want %v", res.Code, res.Error, ran, tt.same)
			}
		})
	}
}

func TestALowerLevelOfConfinementVoidsAnApproval(t *testing.T) {
	t.Parallel()
	store, workspace := memory.NewApprovals(nil), t.TempDir()
	at := func(level sallyport.Level) (*desk, sallyport.Result) {
		d := newDeskOf(t, asking(func(p *sallyport.Personality) { p.Process = []string{"git"} }), store, &sallyport.Backends{
			Process: &scopedtest.Runner{Level: level}, Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()},
		})
		d.hold(func(tool *sallyport.Tool) {
			tool.Capabilities.Process = &sallyport.ProcessCapability{AllowedBinaries: []string{"git"}}
		})
		caller := d.caller()
		caller.Workspace = workspace
		return d, d.Call(t.Context(), caller, sallyport.Request{Tool: "held"})
	}
	d, res := at(sallyport.LevelFull)
	d.decide(res.ApprovalID, true, "")
	if _, res := at(sallyport.LevelNone); res.Code != sallyport.CodeApprovalRequired {
		t.Errorf("Call() with children that nothing confines = %+v, want it held anew", res)
	}
	if _, res := at(sallyport.LevelFull); !res.OK {
		t.Errorf("Call() = %+v, want it to run", res)
	}
}

// texts is a store whose content stands in the ref, after a colon.
type texts struct{}

func (texts) Open(_ context.Context, ref string) (io.ReadCloser, error) {
	_, content, ok := strings.Cut(ref, ":")
	if !ok {
		return nil, errors.New("no such attachment")
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

func TestADryRunDoesNotAsk(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asking(nil))
	d.hold(nil)
	caller := d.caller()
	caller.DryRun = true
	if res := d.Call(t.Context(), caller, sallyport.Request{Tool: "held"}); !res.OK {
		t.Errorf("dry run = %+v, want the description", res)
	}
	if all, err := d.store.List(t.Context(), true); err != nil || len(all) != 0 {
		t.Errorf("a dry run asked: %v, %v", all, err)
	}
}

func TestThoseWhoDecideSeeNoSecretsAndKnowWhatIsHidden(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asking(nil))
	d.hold(nil)
	d.want(`{"to":"a\u001b[31m\u200b\u202e","key":"hunter2-Zq9xY7w"}`, sallyport.CodeApprovalRequired, 0)
	a := d.one()
	if strings.Contains(a.Args, "hunter2") || strings.ContainsAny(a.Args, "\x1b\u200b\u202e") || a.Hidden != 3 {
		t.Errorf("held as %q with %d hidden, want neither the secret nor what controls a terminal, and 3 hidden", a.Args, a.Hidden)
	}
	d.want(`{"text":"`+strings.Repeat("x", 100_000)+`"}`, sallyport.CodeApprovalRequired, 0)
	all, err := d.store.List(t.Context(), false)
	if err != nil || len(all) != 2 || len(all[1].Args) > 17_000 || !strings.Contains(all[1].Args, "[truncated -- 100011 chars total]") {
		t.Errorf("long arguments are held in %d characters, want a bound with a mark", len(all[1].Args))
	}
}

// broken fails where it is told to.
type broken struct {
	sallyport.ApprovalQueue
	ask, use error
	state    sallyport.ApprovalState
}

func (b broken) Ask(ctx context.Context, a sallyport.Approval) (sallyport.Approval, error) {
	if b.ask != nil {
		return a, b.ask
	}
	a.State = b.state
	return a, nil
}

func (b broken) Use(context.Context, string) (bool, error) { return false, b.use }

func TestWithoutAWorkingStoreNothingRuns(t *testing.T) {
	t.Parallel()
	lost := errors.New("driver: password=hunter2")
	tests := []struct {
		name  string
		queue sallyport.ApprovalQueue
		code  sallyport.Code
	}{
		{name: "none", code: sallyport.CodeApprovalRequired},
		{name: "asking fails", queue: broken{ask: lost}, code: sallyport.CodeNotAvailable},
		{name: "full", queue: broken{ask: sallyport.ErrApprovalsFull}, code: sallyport.CodeRateLimited},
		{name: "using fails", queue: broken{use: lost, state: sallyport.ApprovalApproved}, code: sallyport.CodeNotAvailable},
		{name: "never used", queue: broken{state: sallyport.ApprovalApproved}, code: sallyport.CodeApprovalRequired},
		{name: "unknown state", queue: broken{state: "maybe"}, code: sallyport.CodeNotAvailable},
		{name: "no state", queue: broken{}, code: sallyport.CodeNotAvailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &registry.Options{}
			if tt.queue != nil {
				o.Approvals = tt.queue
			}
			r, err := registry.New(&sallyport.Backends{Personalities: one{asking(nil)}}, o)
			if err != nil {
				t.Fatal(err)
			}
			ran := false
			err = r.Register(sallyport.Tool{Name: "held", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				ran = true
				return sallyport.OK(""), nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "tester"}, Personality: "role"}
			res := r.Call(t.Context(), caller, sallyport.Request{Tool: "held"})
			if res.Code != tt.code || ran || strings.Contains(res.Error, "hunter2") {
				t.Errorf("Call() = %+v, ran = %v, want %s", res, ran, tt.code)
			}
		})
	}
}

func TestLabelsAndAllToolsCanBeHeld(t *testing.T) {
	t.Parallel()
	for _, item := range []string{"held", "@mail", "*"} {
		d := newDesk(t, asking(func(p *sallyport.Personality) { p.Approvals.Require = []string{item} }))
		d.hold(func(tool *sallyport.Tool) { tool.Toolset = "mail" })
		d.want("", sallyport.CodeApprovalRequired, 0)
	}
	for _, item := range []string{"@", "@other", "Held", "hel", ""} {
		d := newDesk(t, asking(func(p *sallyport.Personality) { p.Approvals.Require = []string{item} }))
		d.hold(nil)
		d.want("", "", 1)
	}
}
