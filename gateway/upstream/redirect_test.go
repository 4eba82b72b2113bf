package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/lock"
)

// TestB11_RedirectsStayOnTheServersOrigin: another host, even one in the grant,
// gets no argument and cannot answer instead of the server.
func TestB11_RedirectsStayOnTheServersOrigin(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{"http://other.example/mcp", "http://test.example:8080/mcp", "//other.example/mcp"} {
			for _, when := range []string{"initialize", "tools/list", "tools/call", "sse"} {
				t.Run(fmt.Sprint(status, " to ", to, " at ", when), func(t *testing.T) {
					s := newScript(t, tool("a"))
					s.answer = func(*peer, *question) any { return text("fine") }
					var mu sync.Mutex
					var elsewhere []string
					far := s.listen(t, nil)
					front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						body, _ := io.ReadAll(r.Body)
						r.Body = io.NopCloser(strings.NewReader(string(body)))
						switch {
						case r.Host != "test.example":
							mu.Lock()
							defer mu.Unlock()
							elsewhere = append(elsewhere, r.Host+": "+string(body))
						case when == "sse", strings.Contains(string(body), `"`+when+`"`):
							w.Header().Set("Location", to)
							w.WriteHeader(status)
							return
						}
						far.Config.Handler.ServeHTTP(w, r)
					}))
					t.Cleanup(front.Close)
					server := upstream.Server{Name: "test", URL: "http://test.example/mcp", Capabilities: sallyport.Capabilities{
						Network: &sallyport.NetworkCapability{AllowedHosts: []string{"other.example", "test.example:8080"}},
					}}
					if when == "sse" {
						server.Transport = lock.TransportSSE
					}
					g := newGateWith(t, &sallyport.Backends{Network: (&farAway{Server: front}).network()}, nil, server)
					said := strings.Join(g.left, " ")
					if when == "tools/call" {
						said = g.call("test__a", object{"key": "private"}).Error
					}
					if !strings.Contains(said, "the MCP server test redirects to ") || !strings.Contains(said, "which is not where it was declared") {
						t.Errorf("what is said: %q", said)
					}
					mu.Lock()
					defer mu.Unlock()
					if len(elsewhere) > 0 {
						t.Errorf("sent elsewhere: %q", elsewhere)
					}
				})
			}
		}
	}
}

// TestB11_RedirectsAtHome are followed, with the arguments.
func TestB11_RedirectsAtHome(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(_ *peer, q *question) any { return text(string(q.Params.Arguments)) }
	g := overHTTP(t, s, nil, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/v2/mcp", http.StatusTemporaryRedirect)
		}
		return r.URL.Path == "/mcp"
	})
	if res := g.call("test__a", object{"key": "value"}); inside(res) != `{"key":"value"}` {
		t.Errorf("the call = %+v", res)
	}
}
