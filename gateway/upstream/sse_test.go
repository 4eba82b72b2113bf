package upstream_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/lock"
)

// overSSE returns a server of the protocol's library on the older transport.
func overSSE(t *testing.T, endpoint string) (*farAway, *sallyport.NetworkBackend) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "older"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(ctx context.Context, r *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: "half", Progress: 1, Total: 2})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	f := &farAway{}
	h := http.Handler(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil))
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.headers = append(f.headers, r.Header.Clone())
		f.mu.Unlock()
		if endpoint != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, endpoint)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		r.Host = r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(f.CloseClientConnections)
	t.Cleanup(f.Close)
	return f, f.network()
}

// older returns a declaration of a server on the older transport.
func older() upstream.Server {
	return upstream.Server{
		Name: "test", URL: "http://mcp.example/sse", Transport: lock.TransportSSE,
		Headers:      []upstream.Header{{Name: "Authorization", Value: "Bearer ", Secret: "far/token"}},
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"other.example"}}},
	}
}

// TestTheOlderTransport has a connection for each call, under its grant.
func TestTheOlderTransport(t *testing.T) {
	t.Parallel()
	far, network := overSSE(t, "")
	g := newGateOver(t, &sallyport.Backends{Network: network, Secrets: secrets{"far/token": "s3cr3t-of-the-far-server"}}, older())
	if len(g.left) != 0 {
		t.Fatalf("left out: %q", g.left)
	}
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			want := fmt.Sprint("hello ", i)
			if res := g.callAs(t.Context(), "ann", "some", "test__echo", object{"text": want}); inside(res) != want {
				t.Errorf("echo = %+v, want %q", res, want)
			}
		})
	}
	calls.Wait()
	if len(g.progress) != 20 {
		t.Errorf("%d messages of progress, want 20", len(g.progress))
	}
	for _, h := range far.headers {
		if h.Get("Authorization") != "Bearer s3cr3t-of-the-far-server" {
			t.Errorf("a request carries %q, want the token", h.Get("Authorization"))
		}
	}
	before := len(far.headers)
	if res := g.callAs(t.Context(), "ann", "offline", "test__echo", object{"text": "x"}); res.OK || len(far.headers) != before {
		t.Errorf("a role without the host = %+v after %d requests, want none", res, len(far.headers)-before)
	}
}

// TestAnEndpointElsewhere gets neither a message nor a secret: the server may
// not choose where they go, whatever else its grant holds.
func TestAnEndpointElsewhere(t *testing.T) {
	t.Parallel()
	far, network := overSSE(t, "event: endpoint\ndata: http://other.example/messages\n\n")
	g := newGateOver(t, &sallyport.Backends{Network: network, Secrets: secrets{"far/token": "s3cr3t-of-the-far-server"}}, older())
	if len(g.left) != 1 || !strings.Contains(g.left[0], "is not where the MCP server test was declared") || len(far.headers) != 1 {
		t.Errorf("left out: %q after %d requests, want the endpoint refused", g.left, len(far.headers))
	}
}
