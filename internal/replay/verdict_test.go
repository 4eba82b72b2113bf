package replay_test

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/replay"
	"github.com/sallyport/sallyport/output"
)

func TestReadOutcome(t *testing.T) {
	t.Parallel()
	refusal := func(step sallyport.Step, code sallyport.Code, d sallyport.Decision) audit.Event {
		d.Step = step
		return audit.Event{CallID: "1", Stage: step, Code: code, Args: "{}", ArgsDigest: "digest", Principal: "agent", Decisions: []sallyport.Decision{{Step: sallyport.StepDecode, Allowed: true}, d}}
	}
	const denied, required = sallyport.CodePermissionDenied, sallyport.CodeApprovalRequired
	line := func(why string) sallyport.Decision { return sallyport.Decision{Why: why, Source: "sallyport.yaml:4:3"} }
	argument := sallyport.Decision{Capability: "arguments", Why: "argument /to is outside the role's ceiling", Source: "sallyport.yaml:9:3"}
	carried := argument
	carried.Why = "argument /to came out of untrusted content (fetch_url, call 1)"
	for _, tt := range []struct {
		name string
		e    audit.Event
		want replay.Outcome // empty: there is no verdict
		ran  bool
	}{
		{"success", audit.Event{OK: true, Args: "{}", ArgsDigest: "digest"}, replay.Allowed, true},
		{"failure of the tool", audit.Event{Args: "{}", ArgsDigest: "digest", Code: sallyport.CodeExecutionFailed}, replay.Allowed, true},
		{"refused while it ran", refusal(sallyport.StepAccess, "", sallyport.Decision{Why: "not granted"}), replay.Allowed, true},
		{"approved", audit.Event{OK: true, Args: "{}", ArgsDigest: "digest", Decisions: []sallyport.Decision{{Step: sallyport.StepApprove, Allowed: true, Why: "approved by boss (approval 1)"}}}, replay.Held, true},
		{"no tool", refusal(sallyport.StepFind, sallyport.CodeNotAvailable, sallyport.Decision{Why: "no tool of this name is registered"}), replay.Refused, false},
		{"not in the role", refusal(sallyport.StepVisible, sallyport.CodeNotAvailable, line("not in the toolset")), replay.Refused, false},
		{"no such role", refusal(sallyport.StepVisible, sallyport.CodeNotAvailable, sallyport.Decision{Why: "no such personality"}), replay.Refused, false},
		{"role of others", refusal(sallyport.StepVisible, sallyport.CodeNotAvailable, sallyport.Decision{Why: `principal agent may not take personality "x"`}), replay.Refused, false},
		{"stopped", refusal(sallyport.StepVisible, denied, sallyport.Decision{Why: "stopped by ann"}), "", false},
		{"excluded", refusal(sallyport.StepVisible, denied, sallyport.Decision{Why: "excluded by the surface"}), "", false},
		{"task", refusal(sallyport.StepVisible, denied, sallyport.Decision{Why: "the session was narrowed to other tools: a"}), replay.Refused, false},
		{"permission", refusal(sallyport.StepPermit, denied, sallyport.Decision{}), replay.Refused, false},
		{"schema", refusal(sallyport.StepValidate, sallyport.CodeInputInvalid, sallyport.Decision{}), replay.Refused, false},
		{"ceiling", refusal(sallyport.StepGrant, denied, argument), replay.Refused, false},
		{"ceiling of a task", refusal(sallyport.StepGrant, denied, sallyport.Decision{Capability: "arguments", Why: "argument /to is outside what the session was narrowed to: x"}), replay.Refused, false},
		{"held by a task", refusal(sallyport.StepApprove, required, line("no person has decided yet: argument /to is outside what the session was narrowed to")), replay.Held, false},
		{"set that cannot be read", refusal(sallyport.StepGrant, sallyport.CodeNotAvailable, argument), "", false},
		{"carried, refused", refusal(sallyport.StepGrant, denied, carried), replay.Refused, false},
		{"grant", refusal(sallyport.StepGrant, sallyport.CodeNotAvailable, sallyport.Decision{}), "", false},
		{"held", refusal(sallyport.StepApprove, required, line("no person has decided yet")), replay.Held, false},
		{"denied by a person", refusal(sallyport.StepApprove, sallyport.CodeApprovalDenied, line("denied by boss")), replay.Held, false},
		{"held for what it carried", refusal(sallyport.StepApprove, required, carried), replay.Held, false},
		{"flow rule", refusal(sallyport.StepApprove, denied, line("the tool is listed, after untrusted content")), replay.Refused, false},
		{"ended while it was held", refusal(sallyport.StepApprove, denied, sallyport.Decision{Why: "stopped"}), "", false},
		{"no room", refusal(sallyport.StepApprove, sallyport.CodeRateLimited, line("too many")), "", false},
		{"rate limit", refusal(sallyport.StepLimit, sallyport.CodeRateLimited, sallyport.Decision{}), "", false},
		{"not available", refusal(sallyport.StepReady, sallyport.CodeNotAvailable, sallyport.Decision{}), "", false},
		{"no backend", refusal(sallyport.StepBackends, sallyport.CodeNotAvailable, sallyport.Decision{}), "", false},
		{"refused before the question", refusal(sallyport.StepAccess, "", sallyport.Decision{Why: "the call would be refused, so no person was asked: x"}), "", false},
		{"dry run", audit.Event{OK: true, DryRun: true, Args: "{}", ArgsDigest: "digest"}, "", false},
		{"no arguments", audit.Event{Stage: sallyport.StepDecode}, "", false},
		{"long arguments", audit.Event{OK: true, ArgsDigest: "digest"}, "", false},
		{"arguments that are cut", audit.Event{OK: true, Args: `{"text":"aaa} [cut -- 16400 bytes total]`, ArgsDigest: "digest"}, "", false},
		{"arguments that speak of a cut", audit.Event{OK: true, Args: `{"text":"aaa [cut -- 16400 bytes total]"}`, ArgsDigest: "digest"}, replay.Allowed, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, ran := replay.ReadOutcome(&tt.e)
			if v.Outcome != tt.want || ran != tt.ran || (v.Unknown == "") != (tt.want != "") {
				t.Errorf("ReadOutcome() = %+v, %v, want %q, %v", v, ran, tt.want, tt.ran)
			}
			code := map[replay.Outcome]sallyport.Code{replay.Held: required, replay.Refused: tt.e.Code}[v.Outcome]
			if v.Code != code {
				t.Errorf("ReadOutcome() has the code %q, want %q", v.Code, code)
			}
		})
	}
}

// TestATaskOfACallAloneIsNotKept: a call without a session may bring one.
func TestATaskOfACallAloneIsNotKept(t *testing.T) {
	t.Parallel()
	e := audit.Event{
		CallID: "1", Session: output.Plain().Text("1"), Stage: sallyport.StepVisible, Code: sallyport.CodeNotAvailable, Args: "{}", ArgsDigest: "digest",
		Decisions: []sallyport.Decision{{Step: sallyport.StepVisible, Why: "the session was narrowed to other tools: a"}},
	}
	if v, _ := replay.ReadOutcome(&e); v.Unknown != replay.UnknownTask {
		t.Errorf("ReadOutcome() = %+v, want unknown: %s", v, replay.UnknownTask)
	}
}

func TestAddRead(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]sallyport.Facts{
		"no person has decided yet": {},
		"no person has decided yet: it cannot be taken back, after untrusted content (a in the session, call 1)":                {Untrusted: true},
		"it may carry data out, after private data (a in the session, call 1) and untrusted content (b in the session, call 2)": {Untrusted: true, Private: true},
	} {
		e := audit.Event{Stage: sallyport.StepApprove, Decisions: []sallyport.Decision{{Step: sallyport.StepApprove, Why: why}}}
		var got sallyport.Facts
		for _, m := range replay.AddRead(nil, &e) {
			got.Untrusted = got.Untrusted || m.Fact == sallyport.FactUntrusted
			got.Private = got.Private || m.Fact == sallyport.FactPrivate
		}
		if got != want {
			t.Errorf("AddRead(%s) = %+v, want %+v", why, got, want)
		}
		if more := replay.AddRead(replay.AddRead(nil, &e), &e); len(more) > 2 {
			t.Errorf("AddRead(%s) twice = %+v", why, more)
		}
	}
}

func TestAnotherReasonIsADifference(t *testing.T) {
	t.Parallel()
	refused := replay.Verdict{Outcome: replay.Refused, Code: sallyport.CodePermissionDenied, Why: "a"}
	for _, tt := range []struct {
		other replay.Verdict
		want  bool
	}{
		{replay.Verdict{Outcome: replay.Refused, Code: sallyport.CodePermissionDenied, Why: "b"}, false},
		{replay.Verdict{Outcome: replay.Refused, Code: sallyport.CodeNotAvailable, Why: "a"}, true},
		{replay.Verdict{Outcome: replay.Held, Code: sallyport.CodePermissionDenied, Why: "a"}, true},
	} {
		if got := refused.Differs(&tt.other); got != tt.want {
			t.Errorf("Differs(%+v) = %v, want %v", tt.other, got, tt.want)
		}
	}
}
