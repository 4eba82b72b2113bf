package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/registry"
)

func call(g *gate, tool, args string) sallyport.Result {
	return g.Call(g.t.Context(), g.caller(), sallyport.Request{ID: "t1", Tool: tool, Args: json.RawMessage(args)})
}

func TestCallTakesTheStepsInOrder(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "tool", Schema: open, Run: echo})
	if res := call(g, "tool", `{"a":1}`); !res.OK || res.Value != `{"a":1}` {
		t.Fatalf("Call() = %+v, want the arguments back", res)
	}
	want := []sallyport.Step{
		sallyport.StepDecode, sallyport.StepFind, sallyport.StepVisible, sallyport.StepReady,
		sallyport.StepBackends, sallyport.StepPermit, sallyport.StepValidate, sallyport.StepLimit,
		sallyport.StepGrant, sallyport.StepApprove, sallyport.StepIntent, sallyport.StepRun,
	}
	if diff := cmp.Diff(want, steps(g.recorder.last())); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]audit.Kind{audit.KindIntent, audit.KindOutcome}, g.recorder.kinds()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestEachGateRefuses has one case per step: remove the step from the path
// and its case fails.
func TestEachGateRefuses(t *testing.T) {
	t.Parallel()
	unwired := newGateWith(t, nil, &sallyport.Backends{})
	wired := newGate(t, &sallyport.Personality{Name: "role", Toolset: []string{"tool", "@label", "needs", "gone", "away", "panics", "permit"}})
	var ran atomic.Int32
	run := func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		ran.Add(1)
		return sallyport.OK("ran"), nil
	}
	for _, tool := range []sallyport.Tool{
		{Name: "tool", Run: run, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"required":["n","s"],"additionalProperties":false}`)},
		{Name: "hidden", Run: run},
		{Name: "gone", Run: run, IsAvailable: func() bool { return false }},
		{Name: "away", Run: run, IsAvailable: func() bool { return false }, WhyNot: func() string { return "it is away" }},
		{Name: "panics", Run: run, IsAvailable: func() bool { panic("no") }},
		{Name: "permit", Run: run, Permissions: []string{"a:read", "b:read"}},
	} {
		wired.add(tool)
	}
	unwired.add(sallyport.Tool{Name: "needs", Run: run, Capabilities: sallyport.Capabilities{Secrets: []string{"a/b"}}})
	tests := []struct {
		name, tool, args string
		gate             *gate
		edit             func(*sallyport.Caller)
		code             sallyport.Code
		text             string
		stage            sallyport.Step
	}{
		{name: "not json", tool: "tool", args: `{"n":`, code: sallyport.CodeInputInvalid, stage: sallyport.StepDecode},
		{name: "not an object", tool: "tool", args: `[1]`, code: sallyport.CodeInputInvalid, stage: sallyport.StepDecode},
		{name: "repeated key", tool: "tool", args: `{"n":1,"n":2,"s":""}`, code: sallyport.CodeInputInvalid, stage: sallyport.StepDecode},
		{name: "repaired json", tool: "tool", args: `{"n":1,"s":"",}`, code: sallyport.CodeInputInvalid, stage: sallyport.StepDecode},
		{name: "broken arguments of an unknown tool", tool: "nobody", args: `{`, code: sallyport.CodeInputInvalid, stage: sallyport.StepDecode},
		{name: "unknown tool", tool: "nobody", code: sallyport.CodeNotAvailable, text: "Unknown tool: nobody", stage: sallyport.StepFind},
		{name: "no principal", tool: "tool", edit: func(c *sallyport.Caller) { c.Principal.Name = "" }, code: sallyport.CodePermissionDenied, stage: sallyport.StepFind},
		{name: "outside the toolset", tool: "hidden", code: sallyport.CodeNotAvailable, text: "Tool hidden is not permitted for this personality", stage: sallyport.StepVisible},
		{name: "unknown personality", tool: "tool", edit: func(c *sallyport.Caller) { c.Personality = "other" }, code: sallyport.CodeNotAvailable, text: "Tool tool is not permitted for this personality", stage: sallyport.StepVisible},
		{name: "surface", tool: "tool", edit: func(c *sallyport.Caller) { c.Exclude = []string{"tool"} }, code: sallyport.CodeNotAvailable, text: "Tool tool is not available on this surface", stage: sallyport.StepVisible},
		{name: "not available", tool: "gone", code: sallyport.CodeNotAvailable, text: "Tool gone is not currently available", stage: sallyport.StepReady},
		{name: "not available with a reason", tool: "away", code: sallyport.CodeNotAvailable, text: "Tool away is not currently available: it is away", stage: sallyport.StepReady},
		{name: "availability panics", tool: "panics", code: sallyport.CodeNotAvailable, text: "Tool panics is not currently available", stage: sallyport.StepReady},
		{name: "backend missing", tool: "needs", gate: unwired, code: sallyport.CodeNotAvailable, text: "Tool needs declares capabilities but no capability backends are configured", stage: sallyport.StepBackends},
		{name: "permission", tool: "permit", edit: func(c *sallyport.Caller) { c.Principal.Permissions = []string{"a:read"} }, code: sallyport.CodePermissionDenied, text: "Permission denied: permit requires b:read", stage: sallyport.StepPermit},
		{name: "schema", tool: "tool", args: `{"n":"x","other":1}`, code: sallyport.CodeInputInvalid, stage: sallyport.StepValidate},
		{name: "case variant", tool: "tool", args: `{"n":1,"S":"x"}`, code: sallyport.CodeInputInvalid, stage: sallyport.StepValidate},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := tt.gate
			if g == nil {
				g = wired
			}
			caller := g.caller()
			if tt.edit != nil {
				tt.edit(caller)
			}
			res := g.Call(t.Context(), caller, sallyport.Request{Tool: tt.tool, Args: json.RawMessage(tt.args)})
			if res.OK || res.Code != tt.code || tt.text != "" && res.Error != tt.text || res.CallID == "" {
				t.Errorf("Call() = %+v, want %s %q with a call id", res, tt.code, tt.text)
			}
			e := g.recorder.last()
			if e.Stage != tt.stage || e.CallID != res.CallID || e.Kind != audit.KindOutcome {
				t.Errorf("recorded %s at %q for call %q, want the outcome at %q for %q", e.Kind, e.Stage, e.CallID, tt.stage, res.CallID)
			}
		})
	}
	if ran.Load() != 0 {
		t.Errorf("a refused tool ran %d times", ran.Load())
	}
}

func TestEveryFaultOfTheArgumentsIsNamed(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "tool", Run: echo, Schema: json.RawMessage(
		`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"},"e":{"enum":["a","b"],"default":"a"}},"required":["n","s"]}`)})
	res := call(g, "tool", `{"n":"x","e":"c"}`)
	for _, pointer := range []string{"/n", "/s", "/e"} {
		if !strings.Contains(res.Error, pointer) {
			t.Errorf("error %q does not name %s", res.Error, pointer)
		}
	}
	if res := call(g, "tool", `{"n":1,"s":""}`); res.Value != `{"n":1,"s":"","e":"a"}` && !strings.Contains(res.Value, `"e":"a"`) {
		t.Errorf("value = %q, want the default filled in", res.Value)
	}
}

func TestACallWithEffectsNeedsItsRecord(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	ran := map[string]bool{}
	add := func(name string, c sallyport.Capabilities) {
		g.add(sallyport.Tool{Name: name, Capabilities: c, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			ran[name] = true
			return sallyport.OK("ran"), nil
		}})
	}
	add("pure", sallyport.Capabilities{})
	add("writes", sallyport.Capabilities{FSReach: &sallyport.FSCapability{Write: sallyport.FromPersonality()}})
	add("sends", sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example"}}})
	g.add(sallyport.Tool{
		Name: "fetches", ReadOnly: true,
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example"}}},
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			ran["fetches"] = true
			return sallyport.OK("ran"), nil
		},
	})
	g.recorder.refuse(fmt.Errorf("%w: disk is full", audit.ErrNotKept))
	for _, name := range []string{"writes", "sends", "fetches"} {
		res := call(g, name, "")
		if res.OK || ran[name] || !strings.Contains(res.Error, "record cannot be kept") {
			t.Errorf("%s without a record = %+v, ran = %v, want a refusal that says so", name, res, ran[name])
		}
	}
	if res := call(g, "pure", ""); !res.OK {
		t.Errorf("a call without effects = %+v, want it to run", res)
	}
	// Nor does it wait for the disk, as those with effects do, and no outcome.
	g.recorder.refuse(nil)
	for _, name := range []string{"pure", "writes", "sends", "fetches"} {
		call(g, name, "")
	}
	if n := len(g.recorder.events); n != 8 {
		t.Errorf("%d records, want 8", n)
	}
	for _, e := range g.recorder.events {
		if want := e.Kind == audit.KindIntent && e.Tool != "pure"; e.Durable != want {
			t.Errorf("the %s of %s is durable: %v, want %v", e.Kind, e.Tool, e.Durable, want)
		}
	}
}

func TestTheIntentIsRecordedBeforeTheToolRuns(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	var before []audit.Kind
	g.add(sallyport.Tool{Name: "tool", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		before = g.recorder.kinds()
		return sallyport.OK(""), nil
	}})
	call(g, "tool", "")
	if !slices.Equal(before, []audit.Kind{audit.KindIntent}) {
		t.Errorf("records when the tool ran = %v, want the intent", before)
	}
}

func TestAPanicIsAFailureWithoutItsText(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "tool", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		panic("password hunter2")
	}})
	res := call(g, "tool", "")
	if res.OK || res.Code != sallyport.CodeExecutionFailed || strings.Contains(res.Error, "hunter2") || !strings.Contains(res.Error, res.CallID) {
		t.Errorf("Call() = %+v, want execution_failed with the call id and without the panic", res)
	}
}

func TestADeadlineEndsACall(t *testing.T) {
	t.Parallel()
	for _, stubborn := range []bool{false, true} {
		t.Run(fmt.Sprintf("stubborn=%v", stubborn), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				r, err := registry.New(nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				err = r.Register(sallyport.Tool{Name: "slow", Timeout: time.Minute, Run: func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
					if stubborn {
						<-release
						return sallyport.OK("late"), nil
					}
					<-ctx.Done()
					return sallyport.Result{}, ctx.Err()
				}})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				res := r.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "slow"})
				if res.OK || res.Code != sallyport.CodeExecutionFailed || res.Error != "The call timed out after 1m0s" {
					t.Errorf("Call() = %+v, want a timeout", res)
				}
				if took := time.Since(start); took > time.Minute+2*time.Second {
					t.Errorf("the call took %v, want about a minute", took)
				}
				close(release)
				if err := r.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAToolThatHonoursItsDeadlineRunsOnTheGoroutineOfItsCaller is about a tool that
// promises to, and one that does not. Whatever becomes of the run, the answers are
// the same.
func TestAToolThatHonoursItsDeadlineRunsOnTheGoroutineOfItsCaller(t *testing.T) {
	t.Parallel()
	for _, honours := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, nil)
			here := false
			ends := map[string]func(ctx context.Context) (sallyport.Result, error){
				"": func(context.Context) (sallyport.Result, error) { return sallyport.OK("done"), nil },
				"The call timed out after 1m0s": func(ctx context.Context) (sallyport.Result, error) {
					<-ctx.Done()
					return sallyport.Result{}, ctx.Err()
				},
				"The tool failed unexpectedly": func(context.Context) (sallyport.Result, error) { panic("on purpose") },
				"on purpose":                   func(context.Context) (sallyport.Result, error) { return sallyport.Result{}, errors.New("on purpose") },
			}
			for want, end := range ends {
				name := fmt.Sprintf("tool-%d", len(want))
				g.add(sallyport.Tool{Name: name, Timeout: time.Minute, HonoursDeadline: honours, Run: func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
					here = bytes.Contains(debug.Stack(), []byte("registry.(*Registry).Call("))
					return end(ctx)
				}})
				res := call(g, name, "{}")
				if res.OK != (want == "") || !strings.HasPrefix(res.Error, want) {
					t.Errorf("honours=%v: Call() = %+v, want %q", honours, res, want)
				}
				if here != honours {
					t.Errorf("honours=%v: runs on the goroutine of the caller: %v", honours, here)
				}
			}
		})
	}
}

func TestCancellationReachesTheTool(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	started, ended := make(chan struct{}), make(chan struct{})
	g.add(sallyport.Tool{Name: "tool", Run: func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return sallyport.Result{}, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	res := g.Call(ctx, g.caller(), sallyport.Request{Tool: "tool"})
	<-ended
	if res.OK || res.Error != "The call was cancelled by the caller" {
		t.Errorf("Call() = %+v, want a cancellation", res)
	}
	if e := g.recorder.last(); e.Kind != audit.KindOutcome {
		t.Errorf("last record = %s, want the outcome although the context is gone", e.Kind)
	}
}

func TestRegisterNamesEveryFault(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "taken", Run: echo})
	err := g.Register(
		sallyport.Tool{Name: "bad name", Run: echo},
		sallyport.Tool{Name: "taken", Run: echo},
		sallyport.Tool{Name: "twice", Run: echo},
		sallyport.Tool{Name: "twice", Run: echo},
		sallyport.Tool{Name: "norun"},
		sallyport.Tool{Name: "mcp__x", Run: echo},
		sallyport.Tool{Name: "limited", Run: echo, RateLimit: &sallyport.RateLimit{Requests: -1}},
		sallyport.Tool{Name: "schema", Run: echo, Schema: json.RawMessage(`{"type":"array"}`)},
		sallyport.Tool{Name: "remote", Run: echo, Schema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`)},
		sallyport.Tool{Name: "caps", Run: echo, ReadOnly: true, Capabilities: sallyport.Capabilities{
			Network: &sallyport.NetworkCapability{AllowedHosts: []string{"https://x.example/", ""}},
			Secrets: []string{"a//b"},
			Storage: &sallyport.StorageCapability{Scope: "world", Kind: "sql"},
			FSReach: &sallyport.FSCapability{Read: sallyport.Paths("relative"), Write: sallyport.Paths("/ok")},
			Process: &sallyport.ProcessCapability{},
		}},
	)
	var faults registry.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("Register() = %v, want Faults", err)
	}
	got := map[string]int{}
	for _, f := range faults {
		got[f.Tool]++
	}
	want := map[string]int{"bad name": 1, "taken": 1, "twice": 1, "norun": 1, "mcp__x": 1, "limited": 2, "schema": 1, "remote": 1, "caps": 8}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults per tool (-want +got):\n%s\n%v", diff, err)
	}
	if tools := g.Tools(); len(tools) != 1 {
		t.Errorf("%d tools are registered, want only the first: nothing is half registered", len(tools))
	}
}

func TestCloseRefusesNewCalls(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "tool", Run: echo})
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res := call(g, "tool", ""); res.OK || res.Code != sallyport.CodeNotAvailable {
		t.Errorf("Call() after Close = %+v, want not_available", res)
	}
}
