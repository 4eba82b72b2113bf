package registry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// TestDetachReachesTheEdge only where the tool declares tasks and the edge has
// some.
func TestDetachReachesTheEdge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tasks sallyport.TaskSupport
		edge  bool
		want  int
	}{
		{sallyport.TaskNever, true, 0}, {sallyport.TaskOptional, false, 0}, {sallyport.TaskOptional, true, 2}, {sallyport.TaskRequired, true, 2},
	} {
		r, err := registry.New(&sallyport.Backends{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Register(sallyport.Tool{Name: "job", Tasks: tt.tasks, Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			c.Detach()
			c.Detach()
			return sallyport.OK("done"), nil
		}}); err != nil {
			t.Fatal(err)
		}
		times := 0
		caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}
		if tt.edge {
			caller.Detach = func() { times++ }
		}
		if res := r.Call(t.Context(), caller, sallyport.Request{Tool: "job"}); !res.OK || times != tt.want || r.Tasks("job") != tt.tasks || r.Tasks("none") != "" {
			t.Errorf("with %q and an edge %v: %+v, %d times, want %d", tt.tasks, tt.edge, res, times, tt.want)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestTasksAreOfTools, and of two kinds.
func TestTasksAreOfTools(t *testing.T) {
	t.Parallel()
	r, err := registry.New(&sallyport.Backends{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK(""), nil }
	for _, tool := range []sallyport.Tool{
		{Name: "a", Tasks: "forbidden", Run: run},
		{Name: "a", Form: sallyport.FormPrompt, Tasks: sallyport.TaskOptional, Run: run},
		{Name: "a", Form: sallyport.FormResource, Tasks: sallyport.TaskRequired, Run: run, Resources: []sallyport.Resource{{URI: "a://b", Name: "b"}}},
	} {
		if err := r.Register(tool); err == nil || !strings.Contains(err.Error(), "Tasks") {
			t.Errorf("Register(%s %s) = %v, want a fault", tool.Form, tool.Tasks, err)
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAPanicIsTold, and only the gate tells one.
func TestAPanicIsTold(t *testing.T) {
	t.Parallel()
	r, err := registry.New(&sallyport.Backends{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Register(
		sallyport.Tool{Name: "panics", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { panic("x") }},
		sallyport.Tool{Name: "lies", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.Result{Crashed: true, Error: "x", Code: sallyport.CodeExecutionFailed}, nil
		}},
	); err != nil {
		t.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}
	for tool, want := range map[string]bool{"panics": true, "lies": false} {
		if res := r.Call(t.Context(), caller, sallyport.Request{Tool: tool}); res.OK || res.Crashed != want {
			t.Errorf("%s: %+v, want Crashed %v", tool, res, want)
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// stops is switches that stop what they name.
type stops struct {
	what string
	err  error
}

func (s stops) Stopped(_ context.Context, principal, session, tool string) (kind, why string, err error) {
	switch s.what {
	case principal:
		kind = "principal"
	case session:
		kind = "session"
	case tool:
		kind = "tool"
	}
	return kind, "", s.err
}

// TestWhoStandsHearsOfItsCalls: not one that was revoked or stopped, and none
// when that cannot be told.
func TestWhoStandsHearsOfItsCalls(t *testing.T) {
	t.Parallel()
	here := &register{names: map[string]bool{"p": true}}
	for name, tt := range map[string]struct {
		standing registry.Standing
		switches registry.Switches
		want     bool
	}{
		"without an answer": {nil, nil, true},
		"there":             {here, stops{}, true},
		"revoked":           {&register{}, stops{}, false},
		"unreadable":        {&register{names: here.names, err: errors.New("x")}, stops{}, false},
		"stopped":           {here, stops{what: "p"}, false},
		"a stopped session": {here, stops{what: "p/s"}, false},
		"a stopped tool":    {here, stops{what: "t"}, false},
		"no switches":       {here, stops{err: errors.New("x")}, false},
	} {
		r, err := registry.New(&sallyport.Backends{}, &registry.Options{Standing: tt.standing, Switches: tt.switches})
		if err != nil {
			t.Fatal(err)
		}
		caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Session: "s"}
		if got := r.Stands(t.Context(), caller, "t", time.Now()); got != tt.want {
			t.Errorf("%s: Stands() = %v, want %v", name, got, tt.want)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
