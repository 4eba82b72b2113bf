package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// script is a server of the protocol inside the test, which answers what the
// test wants. Its processes are goroutines.
type script struct {
	t testing.TB
	// starts counts the processes.
	starts atomic.Int64

	mu sync.Mutex
	// says is its answer to initialize; lists holds its lists, by method.
	says  object
	lists map[string]any
	// answer answers every request that is neither a handshake nor a listing.
	answer func(p *peer, q *question) any
	peers  map[*peer]bool
	asked  map[string]int // requests by method
	first  string         // the last initialize
	dead   bool           // it ends at once
	// onStart is called at each initialize, before the answer.
	onStart func(p *peer)
	log     logged // the log of its client
	// onNote is called with each notification.
	onNote func(q *question)
	// left is what its processes wrote in memory.
	left []sallyport.Change
	// tidies is how long a process that is stopped goes on.
	tidies time.Duration
}

// question is one message to the server.
type question struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		RequestID json.RawMessage `json:"requestId"`
		URI       string          `json:"uri"`
		Arguments json.RawMessage `json:"arguments"`
		Version   string          `json:"protocolVersion"`
		Meta      object          `json:"_meta"`
		Responses object          `json:"inputResponses"`
		State     string          `json:"requestState"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  object          `json:"error"`
}

// broken is an answer that is an error of the protocol.
type broken object

// peer is one process of the server.
type peer struct {
	script *script
	number int64
	mu     sync.Mutex
	in     io.Reader
	w      io.Writer
	errs   io.Writer // its standard error
	// deaf is held while it reads nothing.
	deaf sync.Mutex
	// heard receives what the client answers to the server's own requests.
	heard chan *question
	// gone is closed when the request of a remote client is over.
	gone <-chan struct{}
}

func newScript(t *testing.T, tools ...any) *script {
	return &script{
		t: t, peers: map[*peer]bool{}, asked: map[string]int{},
		says:  object{"capabilities": object{"tools": object{"listChanged": true}}, "serverInfo": object{"name": "scripted", "version": "1"}},
		lists: map[string]any{"tools/list": object{"tools": tools}},
	}
}

// tool returns a definition without arguments.
func tool(name string, more ...object) object {
	o := object{"name": name, "description": "Does " + name + ".", "inputSchema": object{"type": "object"}}
	for _, m := range more {
		maps.Copy(o, m)
	}
	return o
}

// text returns an answer with texts.
func text(texts ...string) object {
	content := []any{}
	for _, t := range texts {
		content = append(content, object{"type": "text", "text": t})
	}
	return object{"content": content}
}

// set changes the script while it runs.
func (s *script) set(change func(s *script)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// count returns how many requests of a method there were.
func (s *script) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

// say sends one message to every client.
func (s *script) say(m object) {
	s.mu.Lock()
	peers := slices.Collect(maps.Keys(s.peers))
	s.mu.Unlock()
	for _, p := range peers {
		p.send(m)
	}
}

func (p *peer) send(m object) {
	m["jsonrpc"] = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		p.script.t.Error(err)
	}
	p.write(append(line, '\n'))
}

func (p *peer) write(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The write fails if the client has gone.
	_, _ = p.w.Write(b)
}

// serve answers the lines of one client.
func (s *script) serve(r io.Reader, w, errs io.Writer) {
	p := &peer{script: s, number: s.starts.Add(1), in: r, w: w, errs: errs, heard: make(chan *question, 1000)}
	s.mu.Lock()
	dead := s.dead
	s.mu.Unlock()
	if dead {
		return
	}
	s.set(func(s *script) { s.peers[p] = true })
	defer s.set(func(s *script) { delete(s.peers, p) })
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		p.listens()
		q := &question{}
		if err := json.Unmarshal(lines.Bytes(), q); err != nil {
			s.t.Errorf("the client sent %q: %v", lines.Bytes(), err)
			continue
		}
		switch {
		case q.Method == "initialize":
			s.set(func(s *script) { s.first = lines.Text() })
			if s.onStart != nil {
				s.onStart(p)
			}
			go p.reply(q)
		case q.Method == "":
			p.heard <- q
		case q.ID != nil:
			go p.reply(q)
		default:
			s.set(func(s *script) { s.asked[q.Method]++ })
			if s.onNote != nil {
				s.onNote(q)
			}
		}
	}
}

// die ends the process.
func (p *peer) die() { _ = p.in.(io.Closer).Close() }

// kill ends every process.
func (s *script) kill() {
	s.mu.Lock()
	peers := slices.Collect(maps.Keys(s.peers))
	s.mu.Unlock()
	for _, p := range peers {
		p.die()
	}
}

// listens waits until the process reads.
func (p *peer) listens() {
	p.deaf.Lock()
	defer p.deaf.Unlock()
}

// reply answers one request.
func (p *peer) reply(q *question) {
	switch res := p.script.result(p, q).(type) {
	case nil:
	case broken:
		p.send(object{"id": q.ID, "error": res})
	default:
		p.send(object{"id": q.ID, "result": res})
	}
}

// hello returns the first message of the last client.
func (s *script) hello() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// result returns the answer to a request; nil for none.
func (s *script) result(p *peer, q *question) any {
	s.mu.Lock()
	s.asked[q.Method]++
	list, listed := s.lists[q.Method]
	says, answer := maps.Clone(s.says), s.answer
	s.mu.Unlock()
	switch {
	case q.Method == "initialize":
		if says["protocolVersion"] == nil {
			says["protocolVersion"] = q.Params.Version
		}
		return says
	case listed:
		return list
	case q.Method == "server/discover" || answer == nil:
		return broken{"code": -32601, "message": "no such method"}
	default:
		return answer(p, q)
	}
}

// Confines reports that scripts are not confined.
func (s *script) Confines(*sallyport.Grant) (sallyport.Level, error) { return sallyport.LevelNone, nil }

// Start starts another process of the server.
func (s *script) Start(ctx context.Context, spawn *sallyport.Spawn) (sallyport.Child, error) {
	if check := spawn.Options.Check; check != nil {
		if err := check("/bin/" + spawn.Binary); err != nil {
			return nil, err
		}
	}
	c := &goroutine{done: make(chan struct{}), input: spawn.Options.Input, left: s.left, tidies: s.tidies}
	go func() {
		defer close(c.done)
		s.serve(spawn.Options.Input, spawn.Options.Output, spawn.Options.ErrorOutput)
		_ = spawn.Options.Input.Close()
	}()
	context.AfterFunc(ctx, func() { c.Stop(0) })
	return c, nil
}

// goroutine is a process of a script.
type goroutine struct {
	done   chan struct{}
	input  io.ReadCloser
	left   []sallyport.Change
	tidies time.Duration
}

func (c *goroutine) Done() <-chan struct{} { return c.done }

func (c *goroutine) Wait() (sallyport.ProcessResult, error) {
	<-c.done
	return sallyport.ProcessResult{Changes: c.left}, nil
}

func (c *goroutine) Stop(grace time.Duration) {
	select {
	case <-c.done:
	case <-time.After(min(c.tidies, grace)):
	}
	_ = c.input.Close()
	<-c.done
}

// patience is how long the start of a server that sends much may take: with the race
// detector, on a busy machine, that is longer than a user would wait.
const patience = 2 * time.Minute

// scripted returns a gate over a server that is a script.
func scripted(t testing.TB, s *script, o *upstream.Options, more ...upstream.Server) *gate {
	t.Helper()
	servers := append([]upstream.Server{{Name: "test", Command: []string{"scripted"}}}, more...)
	return newGateWith(t, &sallyport.Backends{Process: s, Network: &sallyport.NetworkBackend{}}, o, servers...)
}

// announce tells every client that a list has changed, and returns when they
// have received it.
func (s *script) announce() {
	s.say(object{"method": "notifications/tools/list_changed"})
	s.mu.Lock()
	peers := slices.Collect(maps.Keys(s.peers))
	s.mu.Unlock()
	for _, p := range peers {
		p.ask("ping")
	}
}

// ask sends a request of the server to its client and returns the answer.
func (p *peer) ask(method string) *question {
	p.send(object{"id": "of the server", "method": method, "params": object{}})
	return <-p.heard
}

// alive counts the processes that run.
func (s *script) alive() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// logged is a log that is safe for concurrent writes.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
