package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// TestACallerThatDoesNotListen to the progress of its call delays its own
// answer, and no other on the same connection.
func TestACallerThatDoesNotListen(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("talks"), tool("echo"))
	s.answer = func(p *peer, q *question) any {
		if q.Params.Name == "talks" {
			for i := range 1000 {
				p.send(object{"method": "notifications/progress", "params": object{"progressToken": q.Params.Meta["progressToken"], "progress": i}})
			}
		}
		return text("fine")
	}
	g := scripted(t, s, nil)
	hears, deaf := make(chan struct{}, 1), make(chan struct{})
	caller := &sallyport.Caller{
		Principal: sallyport.Principal{Name: "ann"}, Session: "s", Personality: "some", Platform: sallyport.PlatformGo, Workspace: g.workspace,
		Progress: func(sallyport.Progress) {
			select {
			case hears <- struct{}{}:
			default:
			}
			<-deaf
		},
	}
	done := make(chan sallyport.Result)
	go func() {
		done <- g.Registry.Call(t.Context(), caller, sallyport.Request{Tool: "mcp__test__talks", Args: []byte("{}")})
	}()
	<-hears
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if res := g.callAs(ctx, "ann", "some", "test__echo", object{}); inside(res) != "fine" {
		t.Errorf("another call = %+v", res)
	}
	close(deaf)
	if res := <-done; inside(res) != "fine" {
		t.Errorf("the call = %+v", res)
	}
}

// TestABrokenMessage ends the connection on which it came, and is not an
// answer: the next call has a process of its own. No memory is held for it.
func TestABrokenMessage(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`no JSON`, `[]`, `{}`, `{"jsonrpc":"2.0","id":null,"result":{}}`, `{"jsonrpc":"2.0","id":[1],"result":{}}`,
		`{"jsonrpc":"1.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":true,"error":{"code":-32603,"message":"x"}}`,
		`"` + strings.Repeat("x", 1<<20) + `"`, `[1,"` + strings.Repeat("x", 1<<20) + `"]`,
	} {
		s := newScript(t, tool("break"), tool("echo"))
		s.answer = func(p *peer, q *question) any {
			if q.Params.Name == "break" {
				p.write([]byte(line + "\n"))
				return nil
			}
			return text("fine")
		}
		g := scripted(t, s, nil)
		if res := g.call("test__break", nil); !strings.Contains(res.Error, "the MCP server test ended while it worked") {
			t.Errorf("%.100s: the call = %+v, want the end of the server", line, res)
		}
		if res := g.call("test__echo", nil); inside(res) != "fine" {
			t.Errorf("%.100s: the next call = %+v", line, res)
		}
		if held := g.mounts.Held(); held != 0 {
			t.Errorf("%.100s: %d bytes are held", line, held)
		}
	}
}

// TestNewsWithoutEnd of a call come without their text, so that waiting events
// occupy no memory.
func TestNewsWithoutEnd(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("talks"))
	s.answer = func(p *peer, q *question) any {
		for i, message := range []string{"a line", strings.Repeat("x", 1<<20)} {
			p.send(object{"method": "notifications/progress", "params": object{"progressToken": q.Params.Meta["progressToken"], "progress": i, "message": message}})
		}
		return text("fine")
	}
	g := scripted(t, s, nil)
	if res := g.call("test__talks", nil); !res.OK {
		t.Fatal(res)
	}
	if len(g.progress) != 2 || g.progress[0].Message != "a line" || g.progress[1].Message != "" {
		t.Errorf("the caller is told %d times, %.100q; want the line and an empty one", len(g.progress), fmt.Sprint(g.progress))
	}
}
