package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
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

// TestAWordForAResultIsNotTheClients to choose.
func TestAWordForAResultIsNotTheClients(t *testing.T) {
	a := newAttacker(t, nil)
	for _, word := range []string{`"x"`, `""`, `7`, `null`} {
		r := a.call("alice", "free", `"arguments":{"a":1},"x":{"y":1}`)
		if r.code() != "" {
			t.Fatalf("a free call was answered %+v", r)
		}
		more := strings.Replace(canAsk, `"_meta":{`, `"_meta":{"sallyport/early":`+word+`,`, 1)
		r = a.post("alice", "free", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"free","arguments":{"a":2},`+more+`}}`)
		if r.code() != "" || len(r.Result.Content) != 1 || r.Result.Content[0].Text != `ran with {"a":2}` {
			t.Errorf("a call with the word %s was answered %+v, want that it ran", word, r)
		}
	}
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

// TestOnlyWhatIsHeldIsTheLibrarys: a client that can ask costs nothing until a
// call is held.
func TestOnlyWhatIsHeldIsTheLibrarys(t *testing.T) {
	for _, held := range []bool{false, true} {
		d := newDesk(t, nil)
		server, err := gateway.New(&mayAsk{held: held}, &gateway.Options{Desk: d})
		if err != nil {
			t.Fatal(err)
		}
		k := &kit{Server: server}
		seen := k.Seen()
		a := &attacker{&desk{kit: k}, t, k.site(t).URL}
		r := a.call("alice", "any", `"arguments":{}`)
		if held && (seen.Load() != 1 || r.code() != "approval_required") {
			t.Errorf("a held call was the library's %d times and answered %+v, want once, and that it is held: the answer does not say of what", seen.Load(), r)
		}
		if !held && (seen.Load() != 0 || r.Result.Content[0].Text != "true") {
			t.Errorf("a call that is not held was the library's %d times and answered %+v, want a direct answer", seen.Load(), r)
		}
	}
}
