package upstream_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// partsWith returns a gate over a remote server with sessions, which tells the
// server when a session is over.
func partsWith(t *testing.T, s *script, far *farAway, o *upstream.Options) *gate {
	t.Helper()
	s.answer = func(*peer, *question) any { return text("fine") }
	var g *gate
	o.CloseSession = func(ctx context.Context, server, personality string, args json.RawMessage) {
		res := g.finder.Call(ctx, &sallyport.Caller{
			Principal: sallyport.Principal{Name: "local"}, Personality: personality, Platform: sallyport.PlatformGo, Workspace: g.workspace,
		}, sallyport.Request{Tool: upstream.CloseSessionName(server), Args: args})
		if !res.OK {
			t.Errorf("the end of the session = %+v", res)
		}
	}
	g = newGateWith(t, &sallyport.Backends{Network: far.network(), Secrets: secrets{"far/key": "s3cr3t-value"}}, o,
		upstream.Server{Name: "test", URL: "http://mcp.example/mcp", Headers: []upstream.Header{{Name: "X-Key", Secret: "far/key"}}})
	if err := g.finder.Register(g.mounts.CloseSessionTools()...); err != nil {
		t.Fatal(err)
	}
	return g
}

// ends counts the sessions of which the server was told that they are over.
func (f *farAway) ends() int { return strings.Count(f.sent(), "DELETE ") }

// TestASessionIsOver: a remote server is told when a session is no longer used,
// once for each session, with the same headers as every other request to it.
func TestASessionIsOver(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	far := s.listen(t, http.Header{"Mcp-Session-Id": {"the-session"}})
	g := partsWith(t, s, far, &upstream.Options{})
	for _, name := range []string{"ann", "bob", "ann"} {
		if res := g.callAs(t.Context(), name, "some", "test__a", object{}); !res.OK {
			t.Fatal(res.Error)
		}
	}
	before := far.ends() // of the discovery
	if err := g.mounts.Close(); err != nil {
		t.Fatal(err)
	}
	if n := far.ends() - before; n != 2 {
		t.Errorf("%d sessions are over, want those of two principals", n)
	}
	_, last, _ := strings.Cut(far.sent()[strings.LastIndex(far.sent(), "DELETE "):], "\n")
	for _, want := range []string{"Mcp-Session-Id: the-session", "X-Key: s3cr3t-value", "Mcp-Protocol-Version: "} {
		if !strings.Contains(last, want) {
			t.Errorf("the last request has %q, want %q", last, want)
		}
	}
}

// TestAServerWithoutSessions is told nothing.
func TestAServerWithoutSessions(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	far := s.listen(t, http.Header{})
	g := partsWith(t, s, far, &upstream.Options{})
	if res := g.call("test__a", nil); !res.OK {
		t.Fatal(res.Error)
	}
	if err := g.mounts.Close(); err != nil || far.ends() != 0 {
		t.Errorf("%d sessions are over, want none (%v)", far.ends(), err)
	}
}

// TestClosesTheSessionOfWhoLeaves: a principal cannot use it to end the session of
// another principal.
func TestClosesTheSessionOfWhoLeaves(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	far := s.listen(t, http.Header{"Mcp-Session-Id": {"the-session"}})
	g := partsWith(t, s, far, &upstream.Options{})
	before := far.ends()
	res := g.finder.Call(t.Context(), &sallyport.Caller{
		Principal: sallyport.Principal{Name: "local"}, Personality: "some", Platform: sallyport.PlatformGo, Workspace: g.workspace,
	}, sallyport.Request{Tool: upstream.CloseSessionName("test"), Args: json.RawMessage(`{"connection":"the-session"}`)})
	if res.Code != sallyport.CodeInputInvalid || far.ends() != before {
		t.Errorf("an end without a session = %+v, %d sessions are over", res, far.ends()-before)
	}
}
