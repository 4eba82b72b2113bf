package gateway

import (
	"context"
	"sync"
	"time"
)

const (
	// maxPending bounds the calls of a stream that run at once. At the bound
	// the server stops reading the stream until a call ends.
	maxPending = 256
	// maxStreamListens bounds the requests of a stream that wait for changes. A
	// client can name everything that it wants to hear of in one request.
	maxStreamListens = 16
)

// pendingRequests are the requests of a stream without an answer.
type pendingRequests struct {
	closed <-chan struct{} // of the stream

	mu      sync.Mutex                 // guards what follows
	ids     map[any]context.CancelFunc // requests without an answer
	listens map[any]struct{}           // those of ids that wait for changes
	count   int                        // requests whose answer is not written yet
	change  chan struct{}              // closed when count shrinks; nil while no goroutine waits
}

func newPendingRequests(closed <-chan struct{}) pendingRequests {
	return pendingRequests{closed: closed, ids: map[any]context.CancelFunc{}, listens: map[any]struct{}{}}
}

// beginRequest records a request, and cancel, which cancels it. It waits while too many
// requests are pending. It returns why the request is refused, or "". Neither the
// next call nor the end of the input waits for the answer of a request that
// listens.
func (p *pendingRequests) beginRequest(key any, cancel context.CancelFunc, listens bool) (why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !listens && p.count >= maxPending && p.awaitChange(nil) {
	}
	if _, taken := p.ids[key]; taken {
		return "the id belongs to a request that has no answer yet"
	}
	if listens {
		if len(p.listens) >= maxStreamListens {
			return "too many requests wait for changes"
		}
		p.listens[key] = struct{}{}
	} else {
		p.count++
	}
	p.ids[key] = cancel
	return ""
}

// endRequest frees an id before its answer is written, because the client may use
// the id again as soon as it reads the answer. It reports whether the id counts
// as pending until that write.
func (p *pendingRequests) endRequest(key any) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, listens := p.listens[key]
	delete(p.ids, key)
	delete(p.listens, key)
	return !listens
}

func (p *pendingRequests) markWritten() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count--
	if p.change != nil {
		close(p.change)
		p.change = nil
	}
}

func (p *pendingRequests) cancelRequest(key any) {
	p.mu.Lock()
	cancel := p.ids[key]
	p.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// awaitChange waits, with the lock released, until a call is answered. It returns
// false when the connection is closed or the timer fires.
func (p *pendingRequests) awaitChange(timer <-chan time.Time) bool {
	if p.change == nil {
		p.change = make(chan struct{})
	}
	change := p.change
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-change:
		return true
	case <-timer:
	case <-p.closed:
	}
	return false
}

// awaitAll waits until every call is answered, but no longer than most.
func (p *pendingRequests) awaitAll(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.count > 0 && p.awaitChange(timer.C) {
	}
}
