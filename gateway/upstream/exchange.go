package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport/sallyport/internal/budget"
)

// firstID is the id of the first request of a call. The library counts its own
// ids from one and never reaches this number. All ids fit into 32 bits.
const firstID = 1_000_000_000

// cancelWait bounds how long telling a server about a cancelled call may take.
const cancelWait = 5 * time.Second

// errClosing is the error of a call that starts after its connection began to
// close.
var errClosing = errors.New("the connection is closing")

// pendingRequest is a request of a call that waits for its answer.
type pendingRequest struct {
	// answer receives it; nil where it comes with the request.
	answer chan wireReply
	stop   context.CancelFunc
}

// wireReply is an answer and its share of the memory budget of all servers.
type wireReply struct {
	*jsonrpc.Response
	held *budget.Holding
}

// exchangeRequest sends the request of a call and returns its result undecoded. It
// bypasses the library, which would decode the answer three times and the
// request twice. If the server answers with an error, the error is a
// *jsonrpc.Error. An error that neither is nor wraps one means that the
// connection is broken.
func (w *messageWire) exchangeRequest(ctx context.Context, r *serverRequest, token string) (json.RawMessage, error) {
	during, stop := context.WithCancel(ctx)
	defer stop()
	id, answer, err := w.registerRequest(stop)
	if err != nil {
		return nil, err
	}
	defer w.forgetRequest(id)
	w.l.trackRequest(token, during)
	defer w.l.trackRequest(token, nil)
	var m *jsonrpc.Response
	if w.l.s.usesPosts() {
		m, err = w.postRequest(during, id, r, token)
	} else {
		m, err = w.sendAndWait(during, id, r, token, answer)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		w.giveUp(ctx, id)
		return nil, ctx.Err()
	case err != nil && during.Err() != nil:
		return nil, w.brokenReason()
	case err != nil:
		return nil, err
	case m.Error != nil:
		return nil, m.Error
	case m.Result == nil:
		return nil, errors.New("no answer")
	}
	return m.Result, nil
}

func (w *messageWire) registerRequest(stop context.CancelFunc) (id int64, answer chan wireReply, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.dead != nil:
		return 0, nil, w.dead
	case w.closing:
		return 0, nil, errClosing
	}
	if !w.l.s.usesPosts() {
		answer = make(chan wireReply, 1)
	}
	id = firstID + w.count
	w.count++
	w.calls.Add(1)
	w.own[id] = pendingRequest{answer, stop}
	return id, answer, nil
}

// forgetRequest forgets a request, and drops an answer that came too late.
func (w *messageWire) forgetRequest(id int64) {
	w.mu.Lock()
	answer := w.own[id].answer
	delete(w.own, id)
	w.mu.Unlock()
	select {
	case late := <-answer:
		w.l.s.m.memory.releaseHolding(late.held)
	default:
	}
	w.calls.Done()
}

// sendAndWait sends a request whose answer comes on the connection.
func (w *messageWire) sendAndWait(ctx context.Context, id int64, r *serverRequest, token string, answer <-chan wireReply) (*jsonrpc.Response, error) {
	var err error
	if p, ok := w.Connection.(*processPipe); ok {
		err = p.sendLine(ctx, r.encodeMessage(id, token, w.l.meta))
	} else {
		q := &jsonrpc.Request{Method: r.method, Params: r.appendParams(nil, token, w.l.meta)}
		if q.ID, err = jsonrpc.MakeID(float64(id)); err == nil {
			err = w.Connection.Write(ctx, q)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sending %q: %w", r.method, err)
	}
	var m wireReply
	select {
	case m = <-answer:
	case <-ctx.Done():
		select {
		case m = <-answer:
		default:
			return nil, ctx.Err()
		}
	}
	callMessagesOf(ctx).addHolding(w.l.s.m.memory, m.held)
	return m.Response, nil
}

// deliverAnswer passes an answer and its share of the budget to the call that waits
// for it. waited reports whether a call waits for it, whose whether it is the
// answer to a call at all.
func (w *messageWire) deliverAnswer(m *jsonrpc.Response, held *budget.Holding) (waited, whose bool) {
	id, ok := m.ID.Raw().(int64)
	if !ok || id < firstID {
		return false, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if q := w.own[id]; q.answer != nil {
		select {
		case q.answer <- wireReply{m, held}:
			held.Pin()
			return true, true
		default: // a second answer
		}
	}
	return false, true
}

// failPending makes every request that waits for an answer fail, because none will
// come. The library's errors look like errors of the protocol but are not
// answers of the server.
func (w *messageWire) failPending(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if limit := limitOf(err); limit != nil && w.dead == nil {
		w.dead = limit
	}
	if w.dead == nil {
		w.dead = fmt.Errorf("the connection broke: %v", err)
	}
	for _, q := range w.own {
		q.stop()
	}
	w.down()
}

func (w *messageWire) brokenReason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// finishCalls accepts no more calls and waits for running ones.
func (w *messageWire) finishCalls() {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.calls.Wait()
}

// giveUp tells the server in the background that a call was cancelled. Over HTTP it waits:
// that is a request of the call, which sends none once it is over itself.
func (w *messageWire) giveUp(ctx context.Context, id int64) {
	told := make(chan struct{})
	params := fmt.Appendf(nil, `{"reason":%q,"requestId":%d}`, ctx.Err().Error(), id)
	begun := w.runBeforeClose(func() {
		defer close(told)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
		defer cancel()
		// If the server does not receive it, it only works in vain.
		_ = w.Connection.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params})
	})
	if begun && w.l.s.usesPosts() {
		<-told
	}
}

// runBeforeClose runs a function in the background; the end of the connection waits for
// it. It reports whether there is still time for that.
func (w *messageWire) runBeforeClose(do func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.background.Go(do)
	}
	return !w.over
}
