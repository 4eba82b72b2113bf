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
// from one, and never comes so far; all of them fit into 32 bits.
const firstID = 1_000_000_000

// cancelWait bounds how long a server is told that a call was given up.
const cancelWait = 5 * time.Second

// errClosing is a call that came too late for its connection.
var errClosing = errors.New("the connection is closing")

// exchanged is a request of a call that waits for its answer.
type exchanged struct {
	// answer receives it; nil where it comes with the request.
	answer chan reply
	stop   context.CancelFunc
}

// reply is an answer and what covers it in the budget of all servers.
type reply struct {
	*jsonrpc.Response
	held *budget.Holding
}

// exchange sends the request of a call and returns its result as it came. It
// goes around the library, which would decode the answer three times and the
// request twice. An error of the server is a *jsonrpc.Error; one that is none,
// and does not wrap any, has broken the connection.
func (w *wire) exchange(ctx context.Context, r *request, token string) (json.RawMessage, error) {
	during, stop := context.WithCancel(ctx)
	defer stop()
	id, answer, err := w.begin(stop)
	if err != nil {
		return nil, err
	}
	defer w.end(id)
	w.l.works(token, during)
	defer w.l.works(token, nil)
	var m *jsonrpc.Response
	if w.l.s.posts() {
		m, err = w.post(during, id, r, token)
	} else {
		m, err = w.send(during, id, r, token, answer)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		w.giveUp(ctx, id)
		return nil, ctx.Err()
	case err != nil && during.Err() != nil:
		return nil, w.broken()
	case err != nil:
		return nil, err
	case m.Error != nil:
		return nil, m.Error
	case m.Result == nil:
		return nil, errors.New("no answer")
	}
	return m.Result, nil
}

// begin gives a request its id.
func (w *wire) begin(stop context.CancelFunc) (id int64, answer chan reply, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.dead != nil:
		return 0, nil, w.dead
	case w.closing:
		return 0, nil, errClosing
	}
	if !w.l.s.posts() {
		answer = make(chan reply, 1)
	}
	id = firstID + w.count
	w.count++
	w.calls.Add(1)
	w.own[id] = exchanged{answer, stop}
	return id, answer, nil
}

// end forgets a request, and an answer that came too late.
func (w *wire) end(id int64) {
	w.mu.Lock()
	answer := w.own[id].answer
	delete(w.own, id)
	w.mu.Unlock()
	select {
	case late := <-answer:
		w.l.s.m.memory.release(late.held)
	default:
	}
	w.calls.Done()
}

// send sends a request whose answer comes on the connection.
func (w *wire) send(ctx context.Context, id int64, r *request, token string, answer <-chan reply) (*jsonrpc.Response, error) {
	var err error
	if p, ok := w.Connection.(*pipe); ok {
		err = p.send(ctx, r.message(id, token, w.l.meta))
	} else {
		q := &jsonrpc.Request{Method: r.method, Params: r.appendParams(nil, token, w.l.meta)}
		if q.ID, err = jsonrpc.MakeID(float64(id)); err == nil {
			err = w.Connection.Write(ctx, q)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sending %q: %w", r.method, err)
	}
	var m reply
	select {
	case m = <-answer:
	case <-ctx.Done():
		select {
		case m = <-answer:
		default:
			return nil, ctx.Err()
		}
	}
	errandOf(ctx).take(w.l.s.m.memory, m.held)
	return m.Response, nil
}

// deliver hands an answer to the call that waits for it, with what covers it.
// It reports whether one does, and whether it is the answer to a call at all.
func (w *wire) deliver(m *jsonrpc.Response, held *budget.Holding) (waited, whose bool) {
	id, ok := m.ID.Raw().(int64)
	if !ok || id < firstID {
		return false, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if q := w.own[id]; q.answer != nil {
		select {
		case q.answer <- reply{m, held}:
			held.Settle()
			return true, true
		default: // the second one
		}
	}
	return false, true
}

// fail ends what waits for an answer: none will come. The library's errors look
// like those of the protocol, and are no answers.
func (w *wire) fail(err error) {
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

// broken is why no answer will come.
func (w *wire) broken() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// finish takes no more calls and waits for those that run.
func (w *wire) finish() {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.calls.Wait()
}

// giveUp tells the server, at leisure, that nobody waits for a call.
func (w *wire) giveUp(ctx context.Context, id int64) {
	params := fmt.Appendf(nil, `{"reason":%q,"requestId":%d}`, ctx.Err().Error(), id)
	w.later(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
		defer cancel()
		// Who does not hear it works for nobody.
		_ = w.Connection.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params})
	})
}

// later does something that the end of the connection waits for. It reports
// whether there is still time.
func (w *wire) later(do func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.errands.Go(do)
	}
	return !w.over
}
