package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

var everybody = []sallyport.InputKind{sallyport.InputPerson, sallyport.InputModel, sallyport.InputFolders}

// caller is the caller of a call, with the questions that it was asked.
type caller struct {
	name   string
	cannot bool
	// answer replaces the usual answers.
	answer func(ctx context.Context, q []sallyport.Question) ([]sallyport.Answer, error)

	mu    sync.Mutex
	asked []sallyport.Question
}

func (c *caller) Can(sallyport.InputKind) bool { return !c.cannot }

func (c *caller) Ask(ctx context.Context, q ...sallyport.Question) ([]sallyport.Answer, error) {
	if c.cannot {
		return nil, &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: "this caller cannot be asked"}
	}
	c.mu.Lock()
	c.asked = append(c.asked, q...)
	c.mu.Unlock()
	if c.answer != nil {
		return c.answer(ctx, q)
	}
	answers := make([]sallyport.Answer, len(q))
	for i := range q {
		answers[i] = sallyport.Answer{Action: sallyport.ActionAccept}
		switch q[i].Kind {
		case sallyport.InputPerson:
			answers[i].Values = map[string]any{"n": c.name}
		case sallyport.InputModel:
			answers[i].Text = "said " + c.name
		default:
			answers[i].Folders = []sallyport.Folder{{URI: "file:///" + c.name, Name: c.name}}
		}
	}
	return answers, nil
}

// questions returns the questions so far.
func (c *caller) questions() []sallyport.Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// from makes a call whose caller can be asked.
func (g *gate) from(ctx context.Context, c *caller, tool string) sallyport.Result {
	g.t.Helper()
	return g.Registry.Call(ctx, &sallyport.Caller{
		Principal: sallyport.Principal{Name: "ann"}, Session: "s", Personality: "some", Platform: sallyport.PlatformGo,
		Workspace: g.workspace, Input: c,
	}, sallyport.Request{Tool: idOf(tool), Args: json.RawMessage("{}")})
}

// inquiring returns a gate over a script that may ask every kind of question.
func inquiring(t testing.TB, s *script) *gate {
	t.Helper()
	return newGateWith(t, &sallyport.Backends{Process: s}, nil, inquirer())
}

func inquirer() upstream.Server {
	return upstream.Server{Name: "test", Command: []string{"scripted"}, Capabilities: sallyport.Capabilities{Input: everybody}}
}

// The questions of these tests.
var (
	forPerson  = object{"message": "Which n?", "requestedSchema": object{"type": "object", "properties": object{"n": object{"type": "string"}}}}
	forModel   = object{"maxTokens": 5, "systemPrompt": "Be kind.", "messages": []any{object{"role": "user", "content": object{"type": "text", "text": "Go on"}}}}
	forFolders = object{}
)

// askClient sends a question of the server and returns what the client answers.
func (p *peer) askClient(method string, params any) *question {
	p.send(object{"id": "of the server", "method": method, "params": params})
	return <-p.heard
}

// code returns the code of an error, 0 for none.
func (q *question) code() int {
	code, _ := q.Error["code"].(float64)
	return int(code)
}

// site is a remote script with a session, which may ask.
type site struct {
	*gate
	// answers receives what the client answers to it.
	answers chan string
	// stream holds what is written to the stream of the session.
	stream chan string
	// over receives when such a stream has ended.
	over chan struct{}
	// gets counts requests for that stream. onGet may answer one instead.
	mu    sync.Mutex
	gets  []http.Header
	open  bool
	onGet func(w http.ResponseWriter, n int) bool
}

func newSite(t *testing.T, s *script) *site {
	t.Helper()
	at := &site{answers: make(chan string, 1000), stream: make(chan string), over: make(chan struct{}, 1000)}
	far := s.listen(t, http.Header{"Mcp-Session-Id": {"first"}})
	far.answered = func(body []byte) {
		if len(body) > 0 { // else it is the end of a session
			at.answers <- string(body)
		}
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			at.listen(w, r)
		} else {
			far.Config.Handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	d := inquirer()
	d.Command, d.URL = nil, "http://mcp.example/mcp"
	d.Headers = []upstream.Header{{Name: "Authorization", Value: "Bearer ", Secret: "far/token"}}
	at.gate = newGateWith(t, &sallyport.Backends{
		Network: (&farAway{Server: front}).network(), Secrets: secrets{"far/token": "s3cr3t-of-the-far-server"},
	}, nil, d)
	return at
}

// listen serves the stream of the session. There is one at most.
func (a *site) listen(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.gets = append(a.gets, r.Header.Clone())
	n, busy := len(a.gets), a.open
	a.mu.Unlock()
	if a.onGet != nil && a.onGet(w, n) {
		return
	}
	if busy {
		w.WriteHeader(http.StatusConflict)
		return
	}
	a.hold(true)
	defer a.hold(false)
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case text := <-a.stream:
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (a *site) hold(open bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open = open; !open {
		a.over <- struct{}{}
	}
}

// isOpen reports whether a client listens.
func (a *site) isOpen() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open
}

// count returns how often a client came to listen.
func (a *site) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.gets)
}

// asking returns the event of a question.
func asking(method string, params any) string {
	text, err := json.Marshal(object{"jsonrpc": "2.0", "id": "theirs", "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("data: %s\n\n", text)
}
