package gateway_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// TestAHeldCallIsMadeOnce: the question is about the call that was made, and
// the decision is for the next one. Each of the two counts once against a rate
// limit.
func TestAHeldCallIsMadeOnce(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk, connect func(func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientSession) {
		s := connect(func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if got := d.record.outcomes("held"); len(got) != 1 || got[0].Code != sallyport.CodeApprovalRequired {
				t.Errorf("outcomes before the decision = %+v, want one that is held", got)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		})
		if res := callHeld(t, s, map[string]any{"a": "é\"<", "b": map[string]any{}}); res.IsError {
			t.Errorf("an approved call = %+v, want that it ran", res)
		}
		if got := d.record.outcomes("held"); len(got) != 2 || !got[1].OK {
			t.Errorf("outcomes = %+v, want one that is held and one that ran", got)
		}
	})
}

// mayAsk is a gate where a human may have to decide about every call.
type mayAsk struct {
	noForms
	held bool
}

func (g *mayAsk) Asks(*sallyport.Caller, string) bool { return true }

func (g *mayAsk) Definitions(*sallyport.Caller) []registry.Definition { return nil }

func (g *mayAsk) Call(_ context.Context, c *sallyport.Caller, q sallyport.Request) sallyport.Result {
	if !g.held {
		return sallyport.OK(fmt.Sprint(c.Asks))
	}
	return sallyport.Result{Error: q.Tool + " is held", Code: sallyport.CodeApprovalRequired, ApprovalID: "unknown"}
}
