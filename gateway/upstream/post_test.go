package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// sendEvents makes a remote server answer with a stream.
func sendEvents(t *testing.T, p *peer, texts ...string) {
	w := p.w.(http.ResponseWriter)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, text := range texts {
		if _, err := io.WriteString(w, text); err != nil {
			t.Log(err) // it may have been cancelled
		}
		_ = http.NewResponseController(w).Flush()
	}
}

// answerEvent returns the event of an answer.
func answerEvent(id []byte, text string) string {
	return fmt.Sprintf("id: 9\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":{\"content\":[{\"type\":\"text\",\"text\":%q}]}}\n\n", id, text)
}

// overHTTP returns a gate over a remote script. before may answer instead, and
// reports whether it did.
func overHTTP(t *testing.T, s *script, more http.Header, before func(w http.ResponseWriter, r *http.Request) bool) *gate {
	far := s.listen(t, more)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			far.Config.Handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	network := (&farAway{Server: front}).network()
	return newGateWith(t, &sallyport.Backends{Network: network}, nil, upstream.Server{Name: "test", URL: "http://mcp.example/mcp"})
}

// TestAnswersInAStream come after the progress of their call, whatever else is
// in the stream, and leave the connection usable for the next call.
func TestAnswersInAStream(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(p *peer, q *question) any {
		sendEvents(t, p, ": a comment\n\nid: 1\ndata:\n\nevent: other\ndata: no JSON\n\n",
			fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%q,\"progress\":1,\"message\":\"half\"}}\r\n\r\n", q.Params.Meta["progressToken"]),
			"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a lie\"}]}}\n\n", answerEvent(q.ID, "fine"))
		return nil
	}
	var mu sync.Mutex
	connections := map[string]bool{}
	g := overHTTP(t, s, nil, func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		connections[r.RemoteAddr] = true
		return false
	})
	for range 20 {
		g.progress = nil
		if res := g.call("test__a", nil); inside(res) != "fine" || len(g.progress) != 1 || g.progress[0].Message != "half" {
			t.Fatalf("the call = %+v, told %v", res, g.progress)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if n := len(connections); n > 10 {
		t.Errorf("%d connections for 20 calls", n)
	}
}

// TestAStreamThatIsBrokenOff is resumed where it ended, but not without end.
func TestAStreamThatIsBrokenOff(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"), tool("endless"))
	asked := make(chan *question, 1)
	s.answer = func(p *peer, q *question) any {
		asked <- q
		sendEvents(t, p, "id: 3\nretry: 1\ndata:\n\n")
		return nil
	}
	var resumed atomic.Int64
	g := overHTTP(t, s, nil, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		resumed.Add(1)
		if r.Header.Get("Last-Event-Id") != "3" || r.Header.Get("Mcp-Protocol-Version") == "" {
			t.Errorf("the stream is taken up with %v", r.Header)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		text := "id: 3\nretry: 1\ndata:\n\n"
		select {
		case q := <-asked:
			if q.Params.Name == "a" {
				text = answerEvent(q.ID, "at last")
			}
		default:
		}
		_, _ = io.WriteString(w, text)
		return true
	})
	if res := g.call("test__a", nil); inside(res) != "at last" || resumed.Load() != 1 {
		t.Errorf("the call = %+v after %d more streams", res, resumed.Load())
	}
	if res := g.call("test__endless", nil); !strings.Contains(res.Error, "ended while it worked") || resumed.Load() != 1+4 {
		t.Errorf("a call without an end = %+v after %d more streams", res, resumed.Load())
	}
}

// TestWhatIsNoAnswerOverHTTP ends the connection, and is not taken as an
// answer.
func TestWhatIsNoAnswerOverHTTP(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(p *peer, q *question){
		"no JSON":        func(p *peer, _ *question) { p.write([]byte("no JSON")) },
		"another answer": func(p *peer, _ *question) { p.send(object{"id": 1, "result": text("a lie")}) },
		"a notification": func(p *peer, _ *question) { p.send(object{"method": "notifications/message"}) },
		"twice the same key": func(p *peer, q *question) {
			p.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{},"result":{}}`, q.ID))
		},
		"nothing":               func(p *peer, _ *question) {},
		"a stream of nothing":   func(p *peer, _ *question) { sendEvents(t, p) },
		"a stream of no JSON":   func(p *peer, _ *question) { sendEvents(t, p, "data: no JSON\n\n") },
		"a stream of no events": func(p *peer, _ *question) { sendEvents(t, p, "no event\n\n") },
		"another form":          func(p *peer, _ *question) { p.w.(http.ResponseWriter).Header().Set("Content-Type", "text/html") },
		"another session": func(p *peer, q *question) {
			p.w.(http.ResponseWriter).Header().Set("Mcp-Session-Id", "theirs")
			p.send(object{"id": q.ID, "result": text("fine")})
		},
		"a status": func(p *peer, _ *question) { p.w.(http.ResponseWriter).WriteHeader(http.StatusTeapot) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, tool("bad"), tool("good"))
			s.answer = func(p *peer, q *question) any {
				if q.Params.Name == "bad" {
					answer(p, q)
					return nil
				}
				return text("fine")
			}
			g := overHTTP(t, s, http.Header{"Mcp-Session-Id": {"ours"}}, nil)
			if res := g.call("test__bad", nil); !strings.Contains(res.Error, "the MCP server test ended while it worked") {
				t.Errorf("the call = %+v, want the end of the connection", res)
			}
			if res := g.call("test__good", nil); inside(res) != "fine" {
				t.Errorf("the next call = %+v", res)
			}
			if n := s.count("initialize"); n != 3 { // one to discover
				t.Errorf("%d connections, want another one for the next call", n)
			}
		})
	}
}

// TestASessionThatIsOver is also given up if the server says so by a protocol
// error, and the client does not end it again.
func TestASessionThatIsOver(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(*peer, *question) any { return text("fine") }
	var over atomic.Bool
	var ends atomic.Int64
	g := overHTTP(t, s, http.Header{"Mcp-Session-Id": {"ours"}}, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodDelete {
			ends.Add(1)
		}
		if !over.CompareAndSwap(true, false) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Session not found"}}`)
		return true
	})
	if res := g.call("test__a", nil); !res.OK {
		t.Fatal(res.Error)
	}
	before := ends.Load() // that of the discovery
	over.Store(true)
	if res := g.call("test__a", nil); !strings.Contains(res.Error, "tools/call: Session not found") {
		t.Errorf("a call of a session that is over = %+v", res)
	}
	if res := g.call("test__a", nil); inside(res) != "fine" || s.count("initialize") != 3 || ends.Load() != before {
		t.Errorf("the next call = %+v after %d sessions, of which %d were ended", res, s.count("initialize"), ends.Load()-before)
	}
}

// TestHeadersBesideOtherSchemas: an argument goes into its header whatever the
// schemas of the other arguments say.
func TestHeadersBesideOtherSchemas(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a", object{"inputSchema": object{"type": "object", "properties": object{
		"region": object{"type": "string", "x-mcp-header": "Region"}, "other": object{"type": []any{"string", "null"}},
	}}}))
	s.lists["server/discover"] = object{
		"supportedVersions": []any{"2026-07-28"}, "capabilities": object{"tools": object{}}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
	}
	s.answer = func(*peer, *question) any { return object{"content": []any{}, "resultType": "complete"} }
	var region atomic.Value
	g := overHTTP(t, s, nil, func(_ http.ResponseWriter, r *http.Request) bool {
		region.Store(r.Header.Get("Mcp-Param-Region"))
		return false
	})
	if res := g.call("test__a", object{"region": "north", "other": nil}); !res.OK || region.Load() != "north" {
		t.Errorf("the call = %+v with the header %q", res, region.Load())
	}
}

// TestCallsThatRun: their connection is closed only after they end.
func TestCallsThatRun(t *testing.T) {
	t.Parallel()
	for name, remote := range map[string]bool{"here": false, "remote": true} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, tool("slow"))
			working, end := make(chan struct{}), make(chan struct{})
			s.answer = func(*peer, *question) any {
				close(working)
				<-end
				return text("fine")
			}
			var g *gate
			if remote {
				g = overHTTP(t, s, nil, nil)
			} else {
				g = scripted(t, s, nil)
			}
			done, closed := make(chan sallyport.Result), make(chan error)
			go func() { done <- g.call("test__slow", nil) }()
			<-working
			go func() { closed <- g.mounts.Close() }()
			close(end)
			if res := <-done; inside(res) != "fine" {
				t.Errorf("the call = %+v", res)
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
		})
	}
}
