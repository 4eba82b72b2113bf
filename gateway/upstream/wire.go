package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/budget"
)

// maxAsked bounds the requests of a server that wait for an answer.
const maxAsked = 64

// rawAnswer is a server's undecoded answer to one request. The protocol library
// decodes into types that lose unknown fields, and it rejects a whole answer
// because of one item.
type rawAnswer struct {
	mu     sync.Mutex
	result json.RawMessage
	fault  bool
	// held covers the result until it is released.
	held *budget.Holding
	over bool
}

// keepHolding stores the holding that covers the answer.
func (a *rawAnswer) keepHolding(m *messageMemory, h *budget.Holding) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || h == nil {
		m.releaseHolding(h)
		return
	}
	h.Pin()
	m.releaseHolding(a.held)
	a.held = h
}

// releaseHolding frees the memory share of an answer that was read.
func (a *rawAnswer) releaseHolding(m *messageMemory) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	m.releaseHolding(a.held)
}

// setResult stores a result, or that there is an error instead.
func (a *rawAnswer) setResult(result json.RawMessage, fault bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.result, a.fault = result, fault
}

// isServerError reports whether an error of the protocol is the server's answer. On
// this machine a broken connection looks the same to the library. Over HTTP an
// answer does not always arrive this way.
func (a *rawAnswer) isServerError(s *mountedServer) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fault || s.URL != ""
}

func (a *rawAnswer) rawResult() json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.result
}

type answerKey struct{}

// withAnswer returns a context under which the result of the one request that
// is sent is kept undecoded.
func withAnswer(ctx context.Context) (context.Context, *rawAnswer) {
	a := &rawAnswer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

// wiredTransport passes every message of a connection through a wire.
type wiredTransport struct {
	mcp.Transport
	l *connLink
}

// Connect connects.
func (t wiredTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w := &messageWire{Connection: c, l: t.l, asked: map[jsonrpc.ID]awaitedRequest{}, own: map[int64]pendingRequest{}}
	w.up, w.down = context.WithCancel(context.Background())
	t.l.wire = w
	return w, nil
}

// messageWire sees the messages of a connection before the protocol library does. It
// keeps results undecoded. It relays progress at once, because the library
// would put it into a queue that the answer overtakes. It answers every request
// of a server to its client, so that no queue grows.
type messageWire struct {
	mcp.Connection
	l *connLink

	mu      sync.Mutex
	asked   map[jsonrpc.ID]awaitedRequest
	refused int
	// own holds the requests of running calls, by id; count is how many there
	// were.
	own   map[int64]pendingRequest
	count int64
	calls sync.WaitGroup
	// dead is why no more answers come. closing says that no more calls are
	// accepted, and over that no more background work is.
	dead          error
	closing, over bool
	background    sync.WaitGroup
	// up ends with the connection, including when it breaks. No answer to the
	// server waits longer.
	up   context.Context
	down context.CancelFunc
}

// whileUp returns a context that also ends with the connection.
func (w *messageWire) whileUp(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	kept := context.AfterFunc(w.up, cancel)
	return ctx, func() { kept(); cancel() }
}

// awaitedRequest is a request whose result is kept.
type awaitedRequest struct {
	method string
	answer *rawAnswer
}

// Write sends a message.
func (w *messageWire) Write(ctx context.Context, m jsonrpc.Message) error {
	q, ok := m.(*jsonrpc.Request)
	if !ok || !q.IsCall() {
		return w.Connection.Write(ctx, m)
	}
	a, _ := ctx.Value(answerKey{}).(*rawAnswer)
	switch q.Method {
	case "initialize", "server/discover":
		a = &w.l.greeting
	}
	if a != nil {
		w.mu.Lock()
		w.asked[q.ID] = awaitedRequest{q.Method, a}
		w.mu.Unlock()
	}
	err := w.Connection.Write(ctx, m)
	if err != nil {
		w.popAwaited(q.ID)
	}
	return err
}

func (w *messageWire) popAwaited(id jsonrpc.ID) (awaitedRequest, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.asked[id]
	delete(w.asked, id)
	return a, ok
}

// Read returns the next answer.
func (w *messageWire) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := w.Connection.Read(ctx)
		size, held := w.lastMessage()
		if err == nil {
			switch m := m.(type) {
			case *jsonrpc.Response:
				answers, whose := w.deliverAnswer(m, held)
				if !whose {
					answers, err = w.storeResult(m, held)
				}
				if !answers && err == nil {
					err = w.countUnasked(size, held)
				}
				if err == nil && !whose {
					return m, nil
				}
			case *jsonrpc.Request:
				if err = w.countUnasked(size, held); err == nil {
					err = w.handleNotification(ctx, m, nil)
				}
			}
		}
		if err != nil {
			w.dropUnread(held)
			w.failPending(err)
			if limit := limitOf(err); limit != nil && limit.floods {
				// In a goroutine: the end of the connection waits for this
				// reader.
				go w.l.endFlood(limit)
			}
			return nil, err
		}
	}
}

// lastMessage returns the size of the message that was read last, and what covers
// it. Messages of a remote server are counted where they arrive.
func (w *messageWire) lastMessage() (size int, held *budget.Holding) {
	if p, ok := w.Connection.(*processPipe); ok {
		return p.size, p.claimHolding()
	}
	return 0, nil
}

// dropUnread frees what covers the messages of a connection that broke.
func (w *messageWire) dropUnread(held *budget.Holding) {
	w.l.s.m.memory.releaseHolding(held)
	if p, ok := w.Connection.(*processPipe); ok {
		p.dropList()
	}
}

// countUnasked counts a message that is not an answer, and frees what covers it. The
// error ends a server that sends such messages without end.
func (w *messageWire) countUnasked(size int, held *budget.Holding) error {
	w.l.s.m.memory.releaseHolding(held)
	if size == 0 {
		return nil // counted where it arrived
	}
	return w.l.countUnasked(size)
}

// storeResult keeps the result of a request, and leaves the library a result that it
// can decode: that of the first request, if it is not too long, and no list. It
// reports whether there was such a request.
func (w *messageWire) storeResult(m *jsonrpc.Response, held *budget.Holding) (bool, error) {
	a, ok := w.popAwaited(m.ID)
	if !ok {
		return false, nil
	}
	greets := a.answer == &w.l.greeting
	if greets && len(m.Result) > maxGreeting {
		w.l.recordLimit(errGreeting)
		return true, errGreeting
	}
	a.answer.keepHolding(w.l.s.m.memory, held)
	a.answer.setResult(m.Result, m.Error != nil)
	e, failed := errors.AsType[*jsonrpc.Error](m.Error)
	switch {
	case failed && len(e.Data) > maxErrorData:
		e.Data = nil
	case m.Error != nil:
	case greets:
		w.l.storeVersion(m.Result)
	default:
		m.Result = json.RawMessage("{}")
	}
	return true, nil
}

// handleNotification handles an unsolicited message of a server. c is the call during which
// it was sent, if that is known. Notifications that no call waits for are
// dropped.
func (w *messageWire) handleNotification(ctx context.Context, m *jsonrpc.Request, c *sallyport.Call) error {
	if m.IsCall() {
		return w.respondToServer(ctx, m, c)
	}
	switch m.Method {
	case "notifications/progress":
		if p := decodeProgress(m.Params); p != nil {
			w.l.relayProgress(p)
		}
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		w.l.noteListChange()
	}
	return nil
}

// decodeProgress reads what a server says of the progress of a call; nil when that
// cannot be a call of the gate. It decodes nothing that the gate does not use,
// whatever memory that would take.
func decodeProgress(params []byte) *mcp.ProgressNotificationParams {
	var said struct {
		Token    json.RawMessage `json:"progressToken"`
		Message  string          `json:"message"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
	}
	var token string
	if json.Unmarshal(params, &said) != nil || json.Unmarshal(said.Token, &token) != nil {
		return nil
	}
	return &mcp.ProgressNotificationParams{ProgressToken: token, Message: said.Message, Progress: said.Progress, Total: said.Total}
}

// respondToServer answers a request of the server. The server may send a ping and ask
// for the input that its declaration names, and nothing else.
func (w *messageWire) respondToServer(ctx context.Context, m *jsonrpc.Request, c *sallyport.Call) error {
	r := &jsonrpc.Response{ID: m.ID, Result: json.RawMessage("{}")}
	inquires := w.l.s.asksFor(m.Method)
	if m.Method != "ping" && !inquires {
		r.Result, r.Error = nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%s is not offered to servers", quoteName(m.Method))}
	}
	if inquires && len(m.Params) > questionLimits.Bytes {
		inquires = false
		r.Result, r.Error = nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("a question has at most %d KiB", questionLimits.Bytes>>10)}
	}
	if !inquires {
		m.Params = nil // a server that reads no answers does not fill the memory
	}
	floods := errAsksIdle
	if w.l.hasCalls() {
		floods = errAsks
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused >= maxAsked {
		return floods
	}
	if w.over {
		return nil
	}
	w.refused++
	w.background.Go(func() {
		var asked context.Context
		if inquires {
			asked, r.Result, r.Error = w.l.answerQuestion(m, c)
		}
		// Over HTTP the answer is sent on behalf of a running call: the call
		// that it belongs to, if there is one. Without such a call no one waits
		// for it.
		switch {
		case w.l.s.URL != "" && asked != nil:
			ctx = asked
		case w.l.s.URL != "":
			ctx = w.l.contextOfCall(ctx)
		}
		ctx, done := w.whileUp(ctx)
		defer done()
		_ = w.Connection.Write(ctx, r)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.refused--
	})
	return nil
}

// Close closes the connection, including anything that is still to be written.
func (w *messageWire) Close() error {
	err := w.Connection.Close()
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.down()
	w.background.Wait()
	return err
}
