package upstream_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// farAway is a server of the protocol's library under the name mcp.example.
type farAway struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	log     strings.Builder
	// gone is a session that the server no longer knows.
	gone atomic.Value
	// answered is called with what the client answers to the server's own
	// requests.
	answered func(body []byte)
	// busy is a method that the server answers as overloaded.
	busy atomic.Value
}

func newFarAway(t *testing.T, stateless bool) (*farAway, *sallyport.NetworkBackend) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "far"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	f := &farAway{}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.headers = append(f.headers, r.Header.Clone())
		f.mu.Unlock()
		r.Host = r.Context().Value(http.LocalAddrContextKey).(net.Addr).String() // what the library checks on loopback
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f, f.network()
}

// network resolves every name to the server.
func (f *farAway) network() *sallyport.NetworkBackend {
	return &sallyport.NetworkBackend{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		},
		Dial: func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, f.Listener.Addr().String())
		},
	}
}

type secrets map[string]string

func (s secrets) Secret(_ context.Context, ref string) (sallyport.Secret, bool, error) {
	v, ok := s[ref]
	return sallyport.NewSecret(v), ok, nil
}

func (s secrets) Known(context.Context) ([]sallyport.Secret, error) {
	var all []sallyport.Secret
	for _, v := range s {
		all = append(all, sallyport.NewSecret(v))
	}
	return all, nil
}

// TestASecretOfAServerThatIsGoneIsTheGatesOwnText takes away the secret that a
// server gets in a header. The gate words the failure, also for calls that leave the
// server alone, and so it is not wrapped as words of the server.
func TestASecretOfAServerThatIsGoneIsTheGatesOwnText(t *testing.T) {
	t.Parallel()
	_, network := newFarAway(t, false)
	source := &goingSecret{}
	g := newGateOver(t, &sallyport.Backends{Network: network, Secrets: source}, upstream.Server{
		Name: "test", URL: "http://mcp.example/mcp",
		Headers: []upstream.Header{{Name: "Authorization", Value: "Bearer ", Secret: "far/token"}},
	})
	if len(g.left) != 0 {
		t.Fatalf("left out: %q", g.left)
	}
	source.gone.Store(true)
	const why = "the MCP server test did not start: secret far/token not found"
	for _, want := range []string{why, why + "; it is left alone until "} {
		if res := g.call("test__echo", object{"text": "hello"}); res.OK || !strings.HasPrefix(res.Error, want) {
			t.Errorf("echo = %q, want %q", res.Error, want)
		}
	}
}

// goingSecret has a value for everything until it is gone.
type goingSecret struct{ gone atomic.Bool }

func (s *goingSecret) Secret(context.Context, string) (sallyport.Secret, bool, error) {
	return sallyport.NewSecret("s3cr3t-of-the-far-server"), !s.gone.Load(), nil
}

func (s *goingSecret) Known(context.Context) ([]sallyport.Secret, error) {
	return []sallyport.Secret{sallyport.NewSecret("s3cr3t-of-the-far-server")}, nil
}

// TestARemoteServer is reached through the accessors of each call: the grant
// must hold its host, and its secret is put into the requests and appears
// nowhere else.
func TestARemoteServer(t *testing.T) {
	t.Parallel()
	for name, stateless := range map[string]bool{"stateless": true, "with sessions": false} {
		t.Run(name, func(t *testing.T) {
			far, network := newFarAway(t, stateless)
			g := newGateOver(t, &sallyport.Backends{
				Network: network, Secrets: secrets{"far/token": "s3cr3t-of-the-far-server"},
			}, upstream.Server{
				Name: "test", URL: "http://mcp.example/mcp",
				Headers: []upstream.Header{{Name: "Authorization", Value: "Bearer ", Secret: "far/token"}},
			})
			if len(g.left) != 0 {
				t.Fatalf("left out: %q", g.left)
			}
			res := g.call("test__echo", object{"text": "hello s3cr3t-of-the-far-server"})
			if !res.OK || !strings.HasPrefix(inside(res), "hello ") || strings.Contains(inside(res), "s3cr3t") {
				t.Errorf("echo = %+v, want the text without the secret", res)
			}
			for _, h := range far.headers {
				if h.Get("Authorization") != "Bearer s3cr3t-of-the-far-server" {
					t.Errorf("a request carries %q, want the token", h.Get("Authorization"))
				}
			}
			// A role whose network does not hold the host reaches nothing, and
			// a connection of another role does not help it.
			before := len(far.headers)
			if res := g.callAs(t.Context(), "ann", "offline", "test__echo", object{"text": "x"}); res.OK || len(far.headers) != before {
				t.Errorf("a role without the host = %+v after %d requests, want none", res, len(far.headers)-before)
			}
		})
	}
}
