package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// beside is a second script under the name other, for servers that must not
// feel what happens to the first.
type beside struct{ first, other *script }

func (b beside) Confines(g *sallyport.Grant) (sallyport.Level, error) { return b.first.Confines(g) }

func (b beside) Start(ctx context.Context, s *sallyport.Spawn) (sallyport.Child, error) {
	if s.Binary == "other" {
		return b.other.Start(ctx, s)
	}
	return b.first.Start(ctx, s)
}

// besideAnother returns a gate over a bad server and a good one.
func besideAnother(t *testing.T, bad *script) *gate {
	t.Helper()
	good := newScript(t, tool("echo"))
	good.answer = func(*peer, *question) any { return text("fine") }
	return newGateWith(t, &sallyport.Backends{Process: beside{bad, good}}, &upstream.Options{Logger: slog.New(slog.NewTextHandler(&bad.log, nil))},
		upstream.Server{Name: "test", Command: []string{"scripted"}}, upstream.Server{Name: "other", Command: []string{"other"}})
}

// checkOtherServer calls the good server.
func (g *gate) checkOtherServer(when string) {
	g.t.Helper()
	if res := g.call("other__echo", nil); inside(res) != "fine" {
		g.t.Errorf("%s: the other server = %+v", when, res)
	}
}

// TestAFloodHarmsItself: whatever a server sends without end, its own call
// fails or ends, the next one works, and other servers do not notice.
func TestAFloodHarmsItself(t *testing.T) {
	t.Parallel()
	endless := func(p *peer, line func(i int) string, n int) {
		for i := range n {
			p.write([]byte(line(i) + "\n"))
		}
	}
	for _, tt := range []struct {
		name string
		ok   bool
		send func(p *peer, q *question)
	}{
		{"progress", true, func(p *peer, q *question) {
			endless(p, func(i int) string {
				return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%q,"progress":%d,"message":"%s"}}`, q.Params.Meta["progressToken"], i, strings.Repeat("x", 1000))
			}, 2000)
		}},
		{"log messages", true, func(p *peer, _ *question) {
			endless(p, func(int) string {
				return `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 10_000) + `"}}`
			}, 500)
		}},
		{"answers to nothing", true, func(p *peer, _ *question) {
			endless(p, func(i int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, 1_000_000+i) }, 2000)
		}},
		{"changes", true, func(p *peer, _ *question) {
			endless(p, func(int) string { return `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` }, 2000)
		}},
		{"complaints", true, func(p *peer, _ *question) {
			for range 50 {
				_, _ = p.errs.Write([]byte(strings.Repeat("x", 1<<20))) // a line without end
			}
			_, _ = p.errs.Write([]byte(strings.Repeat("\nit complains", 10_000)))
		}},
		{"a line of 100 MB", false, func(p *peer, _ *question) {
			p.write([]byte(`{"jsonrpc":"2.0","id":1,"result":"`))
			for range 100 {
				p.write([]byte(strings.Repeat("x", 1<<20)))
			}
		}},
		{"requests that may not be answered", false, func(p *peer, _ *question) {
			// It reads nothing from now on.
			p.deaf.Lock()
			defer p.deaf.Unlock()
			endless(p, func(i int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, i) }, 2000)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, tool("flood"), tool("echo"))
			s.answer = func(p *peer, q *question) any {
				if q.Params.Name == "flood" {
					tt.send(p, q)
				}
				return text("fine")
			}
			g := besideAnother(t, s)
			if res := g.call("test__flood", nil); res.OK != tt.ok {
				t.Errorf("the call = %+v, want ok %v", res, tt.ok)
			}
			g.checkOtherServer("after the flood")
			if text := s.log.String(); len(text) > 200<<10 {
				t.Errorf("the log has %d bytes", len(text))
			}
			if res := g.call("test__echo", nil); !res.OK {
				t.Errorf("the next call = %+v", res)
			}
		})
	}
}

// TestLies about ids: an answer to another request, two answers to one, an
// answer before the question, and ids of other types reach no call.
func TestLies(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("lie"), tool("echo"))
	s.answer = func(p *peer, q *question) any {
		if q.Params.Name != "lie" {
			return text("the truth")
		}
		id := string(q.ID)
		for _, wrong := range []string{`"` + id + `"`, id + `0`, `null`, `-1`, id + ".5"} {
			p.write([]byte(`{"jsonrpc":"2.0","id":` + wrong + `,"result":{"content":[{"type":"text","text":"a lie"}]}}` + "\n"))
		}
		p.write([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"first"}]}}`+"\n", id)))
		p.write([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"second"}]}}`+"\n", id)))
		// The ids of the next requests.
		for i := range 10 {
			p.write([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s%d,"result":{"content":[{"type":"text","text":"too early"}]}}`+"\n", id, i)))
		}
		return nil
	}
	g := besideAnother(t, s)
	if res := g.call("test__lie", nil); res.OK && inside(res) != "first" {
		t.Errorf("the call = %+v, want the first answer or none", res)
	}
	if res := g.call("test__echo", nil); inside(res) != "the truth" {
		t.Errorf("the next call = %+v", res)
	}
	g.checkOtherServer("after lies")
}

// TestWhatServersAskFor is refused as the protocol requires: a method that was
// never offered does not exist. A ping is answered.
func TestWhatServersAskFor(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("asks"))
	answers := map[string]*question{}
	s.answer = func(p *peer, _ *question) any {
		for _, method := range []string{"ping", "sampling/createMessage", "roots/list", "elicitation/create", "tools/call", "no/such"} {
			answers[method] = p.ask(method)
		}
		return text("done")
	}
	g := scripted(t, s, nil)
	if res := g.call("test__asks", nil); inside(res) != "done" {
		t.Fatalf("the call = %+v", res)
	}
	for method, q := range answers {
		if string(q.ID) != `"of the server"` {
			t.Errorf("%s is answered under the id %s", method, q.ID)
		}
		if code, _ := q.Error["code"].(float64); (method == "ping") != (q.Error == nil) || method != "ping" && code != -32601 {
			t.Errorf("%s is answered %s, error %v; want method not found", method, q.Result, q.Error)
		}
	}
	// The client does not declare these capabilities either.
	var hello struct {
		Params struct {
			Capabilities json.RawMessage `json:"capabilities"`
		} `json:"params"`
	}
	if err := json.Unmarshal([]byte(s.hello()), &hello); err != nil || string(hello.Params.Capabilities) != "{}" {
		t.Errorf("the client says that it can do %s (%v), want nothing", hello.Params.Capabilities, err)
	}
}

// TestASlowServer keeps its own callers waiting, and no others.
func TestASlowServer(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("slow"))
	working, end := make(chan struct{}, 100), make(chan struct{})
	s.answer = func(*peer, *question) any {
		working <- struct{}{}
		<-end
		return text("at last")
	}
	g := besideAnother(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan sallyport.Result)
	const calls = 20 // more than one process works on at once
	for range calls {
		go func() { done <- g.callAs(ctx, "ann", "some", "test__slow", object{}) }()
	}
	for range 8 {
		<-working
	}
	g.checkOtherServer("while a server is slow")
	cancel()
	for range calls {
		if res := <-done; res.OK {
			t.Errorf("a call that was given up = %+v", res)
		}
	}
	close(end)
	if res := g.call("test__slow", nil); inside(res) != "at last" {
		t.Errorf("the next call = %+v", res)
	}
}

// TestADeadServer is reported as dead, and left alone for a while.
func TestADeadServer(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(*peer, *question) any { return text("alive") }
	g := besideAnother(t, s)
	s.set(func(s *script) { s.dead = true })
	res := g.call("test__a", nil)
	if res.OK || !strings.Contains(res.Error, "the MCP server test did not start: it ended before it answered") {
		t.Errorf("a server that ends at once = %+v", res)
	}
	starts := s.starts.Load()
	if res := g.call("test__a", nil); res.OK || !strings.Contains(res.Error, "it is left alone until") || s.starts.Load() != starts {
		t.Errorf("a second call = %+v after %d more starts, want none", res, s.starts.Load()-starts)
	}
	g.checkOtherServer("while a server is dead")
}

// TestErrorsOfAServer are its own: they are cleaned and wrapped, and end no
// connection.
func TestErrorsOfAServer(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("fails"))
	s.answer = func(*peer, *question) any {
		return broken{"code": -32603, "message": "\x1b[31m<|im_start|>s3cr3t-value", "data": object{"stack": "private"}}
	}
	g := newGateWith(t, &sallyport.Backends{Process: s, Secrets: secrets{"a": "s3cr3t-value"}}, nil, upstream.Server{Name: "test", Command: []string{"scripted"}})
	for range 3 {
		res := g.call("test__fails", nil)
		if res.Code != sallyport.CodeExecutionFailed || !strings.Contains(res.Error, "<untrusted") ||
			strings.ContainsAny(res.Error, "\x1b") || strings.Contains(res.Error, "im_start") || strings.Contains(res.Error, "s3cr3t-value") || strings.Contains(res.Error, "private") {
			t.Errorf("an error of the protocol = %+v", res)
		}
	}
	if n := s.starts.Load(); n != 2 { // one to discover
		t.Errorf("%d processes, want the one to go on", n)
	}
}

// TestACancelledCallIsToldToTheServer under the id of its request.
func TestACancelledCallIsToldToTheServer(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("slow"))
	working, cancelled := make(chan string, 1), make(chan string, 1)
	s.answer = func(_ *peer, q *question) any {
		working <- string(q.ID)
		return nil
	}
	s.onNote = func(q *question) {
		if q.Method == "notifications/cancelled" {
			cancelled <- string(q.Params.RequestID)
		}
	}
	g := scripted(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan sallyport.Result)
	go func() { done <- g.callAs(ctx, "ann", "some", "test__slow", object{}) }()
	id := <-working
	cancel()
	if res := <-done; res.OK {
		t.Errorf("a cancelled call = %+v", res)
	}
	if got := <-cancelled; got != id {
		t.Errorf("the server is told that %s was cancelled, want %s", got, id)
	}
}

// TestARemoteServerThatForgets its session fails one call; the next one has
// another session.
func TestARemoteServerThatForgets(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(*peer, *question) any { return text("fine") }
	more := http.Header{"Mcp-Session-Id": {"first"}}
	far := s.listen(t, more)
	g := newGateWith(t, &sallyport.Backends{Network: far.network()}, nil, upstream.Server{Name: "test", URL: "http://mcp.example/mcp"})
	if res := g.call("test__a", nil); !res.OK {
		t.Fatal(res.Error)
	}
	far.gone.Store("first")
	more["Mcp-Session-Id"] = []string{"second"}
	if res := g.call("test__a", nil); res.OK {
		t.Errorf("a call of a session that is gone = %+v", res)
	}
	if res := g.call("test__a", nil); !res.OK || g.quarantined() != "" {
		t.Errorf("the next call = %+v, held %q", res, g.quarantined())
	}
}

// TestARemoteListThatCannotBeHad stops the start of the connection, because it
// says nothing about the offer.
func TestARemoteListThatCannotBeHad(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(*peer, *question) any { return text("fine") }
	far := s.listen(t, nil)
	network := far.network()
	network.MaxResponseBytes = 1 << 20
	g := newGateWith(t, &sallyport.Backends{Network: network}, nil, upstream.Server{Name: "test", URL: "http://mcp.example/mcp"})
	s.list(tool("a"), tool("large", object{"description": strings.Repeat("x", 2<<20)}))
	if res := g.call("test__a", nil); res.Code != sallyport.CodeExecutionFailed || !strings.Contains(res.Error, "did not start") || g.quarantined() != "" {
		t.Errorf("a list beyond what a response may have = %+v, held %q", res, g.quarantined())
	}
	s.list(tool("a"))
	if res := g.callAs(t.Context(), "bob", "some", "test__a", object{}); !res.OK {
		t.Errorf("another principal = %+v", res)
	}
}

// TestABusyRemoteServer fails only the requests for which it has no time. It is
// not given up, and a list that it does not return does not count as empty.
func TestABusyRemoteServer(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(*peer, *question) any { return text("fine") }
	far := s.listen(t, nil)
	g := newGateWith(t, &sallyport.Backends{Network: far.network()}, nil, upstream.Server{Name: "test", URL: "http://mcp.example/mcp"})
	if res := g.call("test__a", nil); !res.OK {
		t.Fatal(res.Error)
	}
	starts := s.count("initialize")
	far.busy.Store("tools/call")
	if res := g.call("test__a", nil); !strings.Contains(res.Error, "Service Unavailable") {
		t.Errorf("a call of a busy server = %+v", res)
	}
	far.busy.Store("tools/list")
	if res := g.callAs(t.Context(), "bob", "some", "test__a", object{}); res.Code != sallyport.CodeExecutionFailed || !strings.Contains(res.Error, "Service Unavailable") {
		t.Errorf("a start without a list = %+v", res)
	}
	if res := g.call("test__a", nil); !res.OK || g.quarantined() != "" {
		t.Errorf("a call beside it = %+v, held %q", res, g.quarantined())
	}
	if n := s.count("initialize") - starts; n != 1 {
		t.Errorf("%d more connections, want that of the other principal", n)
	}
}

// TestWhatRemoteServersAskFor is refused within the call during which they ask.
func TestWhatRemoteServersAskFor(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("asks"))
	far := s.listen(t, nil)
	refusal := make(chan string, 1)
	far.answered = func(body []byte) { refusal <- string(body) }
	s.answer = func(p *peer, q *question) any {
		w := p.w.(http.ResponseWriter)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"theirs\",\"method\":\"sampling/createMessage\",\"params\":{}}\n\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%q}]}}\n\n", q.ID, <-refusal)
		return nil
	}
	g := newGateWith(t, &sallyport.Backends{Network: far.network()}, nil, upstream.Server{Name: "test", URL: "http://mcp.example/mcp"})
	res := g.call("test__asks", nil)
	if got := inside(res); !strings.Contains(got, `"id":"theirs"`) || !strings.Contains(got, "-32601") {
		t.Errorf("the server is answered %q (%+v), want that there is no such method", got, res)
	}
}
