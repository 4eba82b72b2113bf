package command

import (
	"context"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
)

// TestAToolThatAsksAtATerminal calls a tool that asks. The tool learns that it
// cannot ask at a terminal, and the user learns what to do.
func TestAToolThatAsksAtATerminal(t *testing.T) {
	t.Parallel()
	env, out := inFolder(t, heldFolder(t, "1h"))
	asks := func(ctx context.Context, env *app.Environment, paths []string) (*app.Runtime, error) {
		rt, err := app.OpenForCalls(ctx, env, paths)
		if err != nil {
			return nil, err
		}
		return rt, rt.InForce().Registry.Register(sallyport.Tool{
			Name: "asks", Description: "Asks a person.", Toolset: "file",
			Capabilities: sallyport.Capabilities{Input: []sallyport.InputKind{sallyport.InputPerson}},
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				_, err := c.Input.Ask(ctx, sallyport.Question{Name: "q", Kind: sallyport.InputPerson, Message: "Really?"})
				return sallyport.OK("asked"), err
			},
		})
	}
	f, r := &flags{}, &callerFlags{}
	err := r.withGate(t.Context(), env, f, asks, func(rt *app.Runtime, caller *sallyport.Caller) error {
		return printResult(env.newPrinter(f), rt.InForce().Registry.Call(t.Context(), caller, sallyport.Request{Tool: "asks"}))
	})
	if got := out.String(); err == nil || !strings.Contains(got, "which this caller cannot be asked for; call it from an MCP client that can") {
		t.Errorf("printed %q, %v, want a failure and what to do", got, err)
	}
}
