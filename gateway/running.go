package gateway

import (
	"context"
	"sync"
)

// running is the calls or requests of one surface, so that its end can wait
// for them and cancel them: the protocol library lets calls go on when it
// closes, and drops their answers.
type running struct {
	mu      sync.Mutex
	next    int
	calls   map[int]context.CancelFunc
	idle    chan struct{} // closed while there is no call
	stopped bool
}

func newRunning() *running {
	r := &running{calls: map[int]context.CancelFunc{}, idle: make(chan struct{})}
	close(r.idle)
	return r
}

// begin gives a call its context. Call done when it is over. After stop, the
// context is cancelled from the start: the call is decided and recorded, and
// its tool ends at once.
func (r *running) begin(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		cancel()
	}
	if len(r.calls) == 0 {
		r.idle = make(chan struct{})
	}
	id := r.next
	r.next++
	r.calls[id] = cancel
	return ctx, func() {
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		if delete(r.calls, id); len(r.calls) == 0 {
			close(r.idle)
		}
	}
}

// size is how many run.
func (r *running) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls)
}

// stop cancels the calls that run and those that come.
func (r *running) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	for _, cancel := range r.calls {
		cancel()
	}
}

// wait returns when no call runs, or when the context ends.
func (r *running) wait(ctx context.Context) error {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
