package upstream_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// library is a process that runs a server of the protocol's library, which
// speaks the generation without sessions.
type library struct{ server *mcp.Server }

func (library) Confines(*sallyport.Grant) (sallyport.Level, error) { return sallyport.LevelNone, nil }

func (l library) Start(_ context.Context, s *sallyport.Spawn) (sallyport.Child, error) {
	c := &goroutine{done: make(chan struct{}), input: s.Options.Input}
	go func() {
		defer close(c.done)
		_ = l.server.Run(context.Background(), &mcp.IOTransport{Reader: s.Options.Input, Writer: nopCloser{s.Options.Output}})
	}()
	return c, nil
}

// nopCloser leaves it to the reader to close the writer.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// TestChangesWithoutSessions: the client subscribes to changes, and lists again
// when it is notified.
func TestChangesWithoutSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "library"}, nil)
		add := func(name string) {
			server.AddTool(&mcp.Tool{Name: name, InputSchema: object{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "called " + name}}}, nil
			})
		}
		add("a")
		add("b")
		g := newGateWith(t, &sallyport.Backends{Process: library{server}}, nil, upstream.Server{Name: "test", Command: []string{"library"}})
		if res := g.call("test__a", nil); inside(res) != "called a" {
			t.Fatalf("the call = %+v, left out: %q", res, g.left)
		}
		server.RemoveTools("a")
		add("more")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if held := g.quarantined(); !strings.Contains(held, "a: the server does not offer it any more") || !strings.Contains(held, "more: offered since") {
			t.Errorf("held: %q, want what is gone and what is new", held)
		}
		if res := g.call("test__b", nil); inside(res) != "called b" {
			t.Errorf("its neighbour = %+v", res)
		}
		add("a")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if res := g.call("test__a", nil); inside(res) != "called a" || strings.Contains(g.quarantined(), "a: ") {
			t.Errorf("the tool that is back = %+v, held %q", res, g.quarantined())
		}
		if err := g.mounts.Close(); err != nil {
			t.Error(err)
		}
	})
}
