package upstream_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// TestWhatAServerEchoesIsNotLogged: a remote server answers with the secret of
// its declaration, and one on this machine writes it to standard error. It
// appears neither in the log nor in a result.
func TestWhatAServerEchoesIsNotLogged(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value"
	log := &logged{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	f := &farAway{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &q)
		w.Header().Set("Content-Type", "application/json")
		result := any(object{"tools": []any{tool("a")}})
		switch q.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", r.Header.Get("X-Key"))
			result = object{"protocolVersion": q.Params.Version, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "far", "version": "1"}}
		case "tools/call":
			w.Header().Set("Content-Type", "text/"+r.Header.Get("X-Key"))
		case "tools/list":
		case "server/discover":
			w.WriteHeader(http.StatusBadRequest)
			return
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_ = json.NewEncoder(w).Encode(object{"jsonrpc": "2.0", "id": q.ID, "result": result})
	}))
	t.Cleanup(f.Close)
	here := newScript(t, tool("a"))
	here.onStart = func(p *peer) { _, _ = p.errs.Write([]byte("it complains of " + secret + "\n")) }
	here.answer = func(*peer, *question) any { return text("fine") }
	g := newGateWith(t, &sallyport.Backends{Process: here, Network: f.network(), Secrets: secrets{"far/key": secret}}, &upstream.Options{Logger: logger},
		upstream.Server{Name: "test", URL: "http://mcp.example/mcp", Headers: []upstream.Header{{Name: "X-Key", Secret: "far/key"}}},
		upstream.Server{Name: "other", Command: []string{"scripted"}})
	if len(g.left) > 0 {
		t.Fatalf("left out: %q", g.left)
	}
	if res := g.call("test__a", nil); res.OK || strings.Contains(res.Error, secret) {
		t.Errorf("the call = %+v, want a failure that says nothing of the secret", res)
	}
	if res := g.call("other__a", nil); !res.OK {
		t.Errorf("the other server = %+v", res)
	}
	text := log.String()
	if !strings.Contains(text, "MCP server lost") || !strings.Contains(text, "it complains of") {
		t.Errorf("the log is %s, want why the server was lost and its complaint", text)
	}
	if strings.Contains(text, secret) {
		t.Errorf("the log holds the secret: %s", text)
	}
}

// TestASecretOverTheCutOfALine: a server writes a long line to standard error, with a
// secret where the line is cut, and ends. No part of it is in the log, or in what the
// caller is told.
func TestASecretOverTheCutOfALine(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.onStart = func(p *peer) {
		_, _ = io.WriteString(p.errs, strings.Repeat("x", 1018)+" s3cr3t-value Error\n")
		p.die()
	}
	g := scripted(t, s, &upstream.Options{Logger: slog.New(slog.NewTextHandler(&s.log, nil))})
	said := strings.Join(g.left, " ")
	if !strings.Contains(said, "it says: xxx") || !strings.Contains(s.log.String(), "xxx") {
		t.Errorf("the caller is told %q, the log is %s; want the line", said, s.log.String())
	}
	if strings.Contains(said+s.log.String(), "s3cr") {
		t.Errorf("a part of the secret is left: %s, %s", said, s.log.String())
	}
}

// TestATokenThatIsEchoedIsNotLogged: the client of these tests searches
// everything that is logged and answered for tokens.
func TestATokenThatIsEchoedIsNotLogged(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	c := newClient(t, i, nil)
	c.login("local")
	c.discover()
	if res := c.echo("local", "x"); !res.OK {
		t.Fatalf("before = %+v", res)
	}
	i.do(func() {
		i.on["/mcp"] = func(w http.ResponseWriter, r *http.Request) {
			_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			w.Header().Set("Content-Type", "text/"+token)
		}
	})
	if res := c.echo("local", "x"); res.OK {
		t.Errorf("a call that a token answers = %+v", res)
	}
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	if text := c.record.text.String(); !strings.Contains(text, "unsupported content type") {
		t.Errorf("the log is %s, want why the server was lost", text)
	}
}
