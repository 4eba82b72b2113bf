package registry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

func TestCacheCases(t *testing.T) {
	t.Parallel()
	each(t, "cache", func(t *testing.T, c behaviour) {
		var in struct {
			Result string
			Args   []json.RawMessage
			DryRun bool
		}
		var want struct{ Executions int }
		unmarshal(t, c.Input, &in)
		unmarshal(t, c.Expect, &want)
		if len(in.Args) == 0 {
			in.Args = []json.RawMessage{[]byte(`{}`), []byte(`{}`)}
		}
		g := newGate(t, nil)
		runs := 0
		g.add(sallyport.Tool{Name: "tool", Schema: open, Cache: &sallyport.Cache{}, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			runs++
			if in.Result != "" {
				return sallyport.Err("no", ""), nil
			}
			return sallyport.OK("real"), nil
		}})
		caller := g.caller()
		for _, args := range in.Args {
			g.Call(t.Context(), caller, sallyport.Request{Tool: "tool", Args: args})
		}
		if in.DryRun {
			caller.DryRun = true
			if res := g.Call(t.Context(), caller, sallyport.Request{Tool: "tool"}); !strings.HasPrefix(res.Value, "[dry-run]") {
				t.Errorf("a dry run after a kept result = %q, want the description", res.Value)
			}
			return
		}
		if runs != want.Executions {
			t.Errorf("the tool ran %d times, want %d", runs, want.Executions)
		}
	})
}

func TestReducerCases(t *testing.T) {
	t.Parallel()
	each(t, "reducer", func(t *testing.T, c behaviour) {
		g := newGate(t, nil)
		g.add(sallyport.Tool{Name: "tool", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK("original"), nil
		}})
		value := func(budget int) string {
			caller := g.caller()
			caller.Budget = budget
			return g.Call(t.Context(), caller, sallyport.Request{Tool: "tool"}).Value
		}
		reduceTo := func(s string) func() {
			remove, err := g.RegisterReducer(sallyport.Reducer{Tool: "tool", Reduce: func(r sallyport.Result, _ sallyport.ReducerContext) sallyport.Result {
				r.Value = s
				return r
			}})
			if err != nil {
				t.Fatal(err)
			}
			return remove
		}
		switch c.Name {
		case "replaces value":
			reduceTo("reduced")
			if got := value(0); got != "reduced" {
				t.Errorf("value = %q, want %q", got, "reduced")
			}
		case "trim after reduce":
			reduceTo(strings.Repeat("x", 200))
			// The contract prints the marker in ASCII.
			if got, want := value(100), strings.Repeat("x", 100)+"\n[truncated -- 200 chars total]"; got != want {
				t.Errorf("value = %q, want %q", got, want)
			}
		case "unregister", "unregister twice is safe":
			remove := reduceTo("reduced")
			remove()
			remove()
			if got := value(0); got != "original" {
				t.Errorf("value after removal = %q, want %q", got, "original")
			}
		case "stale unregister must not remove a replacement":
			first := reduceTo("A")
			first()
			reduceTo("B")
			first()
			if got := value(0); got != "B" {
				t.Errorf("value = %q, want %q", got, "B")
			}
		default:
			t.Fatalf("no test for case %q", c.Name)
		}
	})
}

func TestProgressCases(t *testing.T) {
	t.Parallel()
	each(t, "progress", func(t *testing.T, c behaviour) {
		var in struct{ Emit sallyport.Progress }
		var want struct{ Audience sallyport.Audience }
		unmarshal(t, c.Input, &in)
		unmarshal(t, c.Expect, &want)
		if got := in.Emit.VisibleTo(); got != want.Audience {
			t.Errorf("VisibleTo() = %q, want %q", got, want.Audience)
		}
	})
}

func TestResultConstructorCases(t *testing.T) {
	t.Parallel()
	each(t, "sdk", func(t *testing.T, c behaviour) {
		var in struct {
			Err  string
			Code sallyport.Code
		}
		var want struct {
			Error string
			Code  sallyport.Code
		}
		unmarshal(t, c.Input, &in)
		unmarshal(t, c.Expect, &want)
		if in.Err == "" {
			if caps := (sallyport.Tool{Name: "x"}).Capabilities; !caps.Empty() {
				t.Errorf("capabilities of a tool that declares none = %v, want none", caps)
			}
			return
		}
		if got := sallyport.Err(in.Err, in.Code); got.OK || got.Error != want.Error || got.Code != want.Code {
			t.Errorf("Err(%q, %q) = %v, want %v", in.Err, in.Code, got, want)
		}
	})
}
