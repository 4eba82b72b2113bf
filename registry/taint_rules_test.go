package registry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/provenance"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

func TestRulesOfAPersonality(t *testing.T) {
	t.Parallel()
	read := []string{"read_file", "mcp__trivia__fact"}
	const held, refused = sallyport.CodeApprovalRequired, sallyport.CodePermissionDenied
	tests := []struct {
		name  string
		flow  sallyport.Flow
		after []string
		tool  string
		want  sallyport.Code
	}{
		{"default", sallyport.Flow{}, read, "send", held},
		{"approve", sallyport.Flow{AfterUntrustedPrivate: sallyport.FlowApprove}, read, "send", held},
		{"refuse", sallyport.Flow{AfterUntrustedPrivate: sallyport.FlowRefuse}, read, "send", refused},
		{"allow", sallyport.Flow{AfterUntrustedPrivate: sallyport.FlowAllow}, read, "send", ""},
		{"a word that is not known", sallyport.Flow{AfterUntrustedPrivate: "perhaps"}, read, "send", refused},
		{"private alone", sallyport.Flow{AfterUntrustedPrivate: sallyport.FlowRefuse}, read[:1], "send", ""},
		{"untrusted alone", sallyport.Flow{AfterUntrustedPrivate: sallyport.FlowRefuse}, read[1:], "send", ""},
		{"stays inside", sallyport.Flow{AfterUntrustedPrivate: sallyport.FlowRefuse}, read, "note", ""},
		{"except a tool", sallyport.Flow{Allow: []string{"send"}}, read, "send", ""},
		{"except a server", sallyport.Flow{Allow: []string{"mcp__postmark__*"}}, read, "mcp__postmark__send", ""},
		{"except another server", sallyport.Flow{Allow: []string{"mcp__post__*", "mcp__github__*"}}, read, "mcp__postmark__send", held},
		{"an exception from something else", sallyport.Flow{Allow: []string{"send"}, Refuse: []string{"send"}}, read[1:], "send", refused},
		{"listed by server", sallyport.Flow{Refuse: []string{"mcp__postmark__*"}}, read[1:], "mcp__postmark__send", refused},
		{"listed by name", sallyport.Flow{Approve: []string{"note"}}, read[1:], "note", held},
		{"listed by label", sallyport.Flow{Refuse: []string{"@out"}}, read[1:], "note", refused},
		{"all are listed", sallyport.Flow{Approve: []string{"*"}}, read[1:], "note", held},
		{"listed, and nothing untrusted", sallyport.Flow{Refuse: []string{"*"}}, read[:1], "note", ""},
		{"refusing beats approving", sallyport.Flow{Approve: []string{"send"}, AfterUntrustedPrivate: sallyport.FlowRefuse}, read, "send", refused},
		{"approving beats allowing", sallyport.Flow{Approve: []string{"send"}, AfterUntrustedPrivate: sallyport.FlowAllow}, read, "send", held},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFlows(t, nil, func(p *sallyport.Personality) { p.Flow = tt.flow })
			f.let("p", "s", tt.after...)
			if tt.want == "" {
				f.let("p", "s", tt.tool)
				return
			}
			f.stop("p", "s", tt.tool, tt.want)
		})
	}
}

// TestTheLocalUserIsNotAskedAboutThemselves, unless the personality says so.
func TestTheLocalUserIsNotAskedAboutThemselves(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		principal string
		platform  sallyport.Platform
		flow      sallyport.FlowAction
		ok        bool
	}{
		{"at the command line", sallyport.LocalPrincipal, sallyport.PlatformCLI, "", true},
		{"an agent over stdio", sallyport.LocalPrincipal, sallyport.PlatformMCP, "", false},
		{"another principal", "agent", sallyport.PlatformCLI, "", false},
		{"by the file", sallyport.LocalPrincipal, sallyport.PlatformCLI, sallyport.FlowApprove, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFlows(t, nil, func(p *sallyport.Personality) { p.Flow.AfterUntrustedPrivate = tt.flow })
			c := f.caller()
			c.Principal.Name, c.Platform = tt.principal, tt.platform
			var res sallyport.Result
			for _, tool := range []string{"read_file", "mcp__trivia__fact", "send"} {
				res = f.Call(t.Context(), c, sallyport.Request{Tool: tool, Args: json.RawMessage(`{"n":"` + passedOn + `"}`)})
			}
			if res.OK != tt.ok {
				t.Errorf("send = %+v, want ok %v", res, tt.ok)
			}
			if got := f.Asks(c, "send"); got == tt.ok {
				t.Errorf("Asks() = %v, want %v", got, !tt.ok)
			}
		})
	}
}

// TestAnEarlierApprovalIsNotForLater: who approved the call before untrusted
// content came did not know of it.
func TestAnEarlierApprovalIsNotForLater(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, func(p *sallyport.Personality) { p.Approvals.Require = []string{"send"} })
	first := f.hold("p", "s", "send")
	if err := f.approvals.Decide(t.Context(), first.ApprovalID, "boss", true, ""); err != nil {
		t.Fatal(err)
	}
	f.let("p", "s", "read_file", "mcp__trivia__fact")
	if second := f.hold("p", "s", "send"); second.ApprovalID == first.ApprovalID {
		t.Error("the call is held under the approval of before")
	}
}

// TestWithoutAConversationNothingIsJudged: what a server is asked at the start
// reaches no model.
func TestWithoutAConversationNothingIsJudged(t *testing.T) {
	t.Parallel()
	for _, none := range []bool{false, true} {
		p := &sallyport.Personality{Name: "role", MCPServers: []string{"a"}, Flow: sallyport.Flow{Refuse: []string{"*"}}}
		r, err := registry.New(&sallyport.Backends{Personalities: one{p}}, &registry.Options{NoConversation: none})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Register(sallyport.Tool{Name: "mcp__a__b", Run: echo}); err != nil {
			t.Fatal(err)
		}
		c := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Personality: "role"}
		first, second := r.Call(t.Context(), c, sallyport.Request{Tool: "mcp__a__b"}), r.Call(t.Context(), c, sallyport.Request{Tool: "mcp__a__b"})
		if !first.OK || second.OK != none {
			t.Errorf("NoConversation %v: calls = %+v, %+v", none, first, second)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestAHintIsPartOfTheDefinition, and so are tasks: an approval of a tool that only
// read is not one of a tool that does not say so any more.
func TestAHintIsPartOfTheDefinition(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	digests := map[string]bool{}
	for _, tool := range []sallyport.Tool{{}, {SaysReadOnly: true}, {Tasks: sallyport.TaskOptional}, {Tasks: sallyport.TaskRequired}} {
		reg, err := registry.New(nil, &registry.Options{Recorder: r})
		if err != nil {
			t.Fatal(err)
		}
		tool.Name, tool.Run = "tool", echo
		if err := reg.Register(tool); err != nil {
			t.Fatal(err)
		}
		reg.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "tool"})
		digests[r.last().Definition] = true
	}
	if len(digests) != 4 {
		t.Errorf("%d definitions, want four", len(digests))
	}
}

// TestWhatIsReadWhileACallIsHeldCounts: who approved it did not know of that.
func TestWhatIsReadWhileACallIsHeldCounts(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"send", "export"} {
		t.Run(tool, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testReadWhileHeld(t, tool) }) })
	}
}

func testReadWhileHeld(t *testing.T, tool string) {
	f := newFlows(t, nil, func(p *sallyport.Personality) {
		p.Approvals.Require, p.Approvals.Wait = []string{tool}, 10*time.Second
	})
	approve := func() {
		t.Helper()
		all, err := f.approvals.List(t.Context(), false)
		if err != nil || len(all) != 1 {
			t.Fatalf("List() = %v, %v, want one", all, err)
		}
		if err := f.approvals.Decide(t.Context(), all[0].ID, "boss", true, ""); err != nil {
			t.Fatal(err)
		}
	}
	f.hold("p", "s", tool)
	approve()
	f.let("p", "s", tool)
	held := make(chan sallyport.Result)
	go func() { held <- f.by("p", "s", tool) }()
	synctest.Wait()
	f.let("p", "s", "read_file", "mcp__trivia__fact")
	approve()
	if res := <-held; res.Code != sallyport.CodeApprovalRequired || f.ran[tool].Load() != 1 {
		t.Errorf("%s = %+v, want it to be held for what was read in between", tool, res)
	}
}

// TestAHeldCallMeetsTheStricterRule: it was approved after untrusted content,
// and must not run after private data, which came while it was held.
func TestAHeldCallMeetsTheStricterRule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFlows(t, nil, func(p *sallyport.Personality) {
			p.Flow = sallyport.Flow{Approve: []string{"send"}, AfterUntrustedPrivate: sallyport.FlowRefuse}
			p.Approvals.Wait = 10 * time.Second
		})
		f.let("p", "s", "mcp__trivia__fact")
		held := make(chan sallyport.Result)
		go func() { held <- f.by("p", "s", "send") }()
		synctest.Wait()
		f.let("p", "s", "read_file")
		all, err := f.approvals.List(t.Context(), false)
		if err != nil || len(all) != 1 {
			t.Fatalf("List() = %v, %v, want one", all, err)
		}
		if err := f.approvals.Decide(t.Context(), all[0].ID, "boss", true, ""); err != nil {
			t.Fatal(err)
		}
		if res := <-held; res.Code != sallyport.CodePermissionDenied || f.ran["send"].Load() != 0 {
			t.Errorf("send = %+v, want it to be refused for what was read in between", res)
		}
	})
}

// TestACancelledCallBringsNothing: it did not run, so that nothing is kept of
// it where an operator could not have it forgotten.
func TestACancelledCallBringsNothing(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, nil)
	f.let("p", "s", "read_file")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := f.caller()
	c.Principal.Name, c.Session = "p", "s"
	res := f.Call(ctx, c, sallyport.Request{Tool: "mcp__trivia__fact"})
	if res.OK || !strings.Contains(res.Error, "cancelled") || f.ran["mcp__trivia__fact"].Load() != 0 {
		t.Errorf("result = %+v, want that it was cancelled", res)
	}
	f.let("p", "s", "send")
}

func TestADeniedCallBringsNothing(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, func(p *sallyport.Personality) { p.Approvals.Require = []string{"mcp__trivia__fact"} })
	f.let("p", "s", "read_file")
	f.hold("p", "s", "mcp__trivia__fact")
	f.let("p", "s", "send")
}

func TestForgottenFactsDoNotCount(t *testing.T) {
	t.Parallel()
	m, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	talks := conversation.New(nil)
	f := wireFlows(t, nil, func(o *registry.Options) { o.Facts, o.Conversations = m.Facts(), talks })
	f.let("p", "s", "read_file", "mcp__trivia__fact")
	f.hold("p", "s", "send")
	f.let("p", "other", "mcp__trivia__fact")
	talks.Reads.Add("p", "s", provenance.Source{}, strings.Repeat("a long page ", 1000))
	before := talks.Reads.Bytes()
	if was, err := m.Facts().Forget(t.Context(), "p"); !was || err != nil {
		t.Fatalf("Forget() = %v, %v", was, err)
	}
	f.let("p", "s", "send")
	if after := talks.Reads.Bytes(); after == 0 || after >= before/2 {
		t.Errorf("of %d bytes of what was read %d are left, want those of the other session alone", before, after)
	}
}

// TestAReadOfAnotherProcessIsNamedAndForgotten: the operator is told which call another
// process made, as before a restart, and the command of the fix ends what holds the next call.
func TestAReadOfAnotherProcessIsNamedAndForgotten(t *testing.T) {
	t.Parallel()
	for action, code := range map[string]sallyport.Code{"hold": sallyport.CodeApprovalRequired, "refuse": sallyport.CodePermissionDenied} {
		m, err := memory.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		rule := func(p *sallyport.Personality) {
			p.Arguments = map[string]json.RawMessage{"note": json.RawMessage(`{"type":"object","from_untrusted":"` + action + `"}`)}
		}
		newFlows(t, m.Facts(), rule).let("p", "s", "mcp__trivia__fact")
		restarted := newFlows(t, m.Facts(), rule)
		restarted.stop("p", "s", "note", code)
		trail := restarted.recorder.last().Decisions
		d := trail[len(trail)-1]
		if !strings.Contains(d.Why, "this process does not know what call 0") || !strings.Contains(d.Fix, "sallyport principals forget p, which forgets") {
			t.Errorf("%s: refusal = %+v, want the call of the other process and the command that forgets it", action, d)
		}
		if was, err := m.Facts().Forget(t.Context(), "p"); !was || err != nil {
			t.Fatalf("Forget() = %v, %v", was, err)
		}
		restarted.let("p", "s", "note")
	}
}

func TestExplainForetellsTheRule(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, func(p *sallyport.Personality) { p.Flow.Refuse = []string{"note"} })
	for tool, want := range map[string]string{
		"send":      "once private data and untrusted content were read, each call is held until a person approves it when an argument came out of that",
		"note":      "once untrusted content was read, each call is refused",
		"read_file": "",
	} {
		x, err := f.Explain(f.caller(), tool)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, d := range x.Decisions {
			got += d.Why
			if d.Step == sallyport.StepGrant || d.Why != "" && d.Source != "sallyport.yaml:9:7" {
				t.Errorf("Explain(%s) decided %+v", tool, d)
			}
		}
		if got != want {
			t.Errorf("Explain(%s) = %q, want %q", tool, got, want)
		}
		if tool == "send" && (!x.Facts.Outward || !x.Facts.Untrusted || x.Facts.Private) {
			t.Errorf("facts of send = %+v, want untrusted and outward", x.Facts)
		}
	}
}
