package command

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/store"
)

const (
	// readyAge is how long one answer is reused: any client may ask, and each
	// check writes to the disk.
	readyAge = time.Second
	// readyWait bounds one check.
	readyWait = 5 * time.Second
	// readySetting is the state's key of the value that a check writes.
	readySetting = "ready/probe"
)

// readiness checks what a call needs: the state accepts a write to the disk and
// has room for more, the record can continue, and its key can be read. It is
// safe for concurrent use.
type readiness struct {
	g   *gate
	now func() time.Time

	mu  sync.Mutex
	at  time.Time
	err error
}

// newReadiness returns the checks of a gate.
func (g *gate) newReadiness() *readiness { return &readiness{g: g, now: time.Now} }

// checkFresh returns the last answer while it is fresh, and checks again otherwise.
// Requests that arrive during a check wait for its answer.
func (r *readiness) checkFresh(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.at.IsZero() || now.Sub(r.at) >= readyAge {
		// The answer is shared: a client that disconnects must not spoil it for
		// the others.
		ctx, cancel := context.WithTimeout(context.Background(), readyWait)
		defer cancel()
		r.err = r.g.tryState(ctx)
		r.at = r.now()
	}
	return r.err
}

// tryState returns the reason why calls cannot be served, as an
// [*httpapi.Unready].
func (g *gate) tryState(ctx context.Context) error {
	if err := g.settings.Put(ctx, readySetting, time.Now().UTC().Format(time.RFC3339Nano)); err != nil {
		return notReady(httpapi.ReasonState, err)
	}
	if err := g.state.Sync(ctx); err != nil {
		return notReady(httpapi.ReasonState, err)
	}
	// A small write can succeed where the next record does not fit.
	if s, ok := g.state.(store.FullReporter); ok && s.Full() {
		return notReady(httpapi.ReasonState, store.ErrFull)
	}
	if _, err := audit.Newest(ctx, g.state); err != nil {
		return notReady(httpapi.ReasonState, err)
	}
	if g.config.State.Path == "" {
		return nil // A state in memory keeps its key in memory.
	}
	if _, err := audit.ReadKey(g.keyPath()); err != nil {
		return notReady(httpapi.ReasonKey, err)
	}
	return nil
}

// notReady classifies an error of the state by what the operator has to check.
func notReady(reason httpapi.Reason, err error) error {
	if errors.Is(err, store.ErrFull) {
		reason = httpapi.ReasonDisk
	}
	return &httpapi.Unready{Reason: reason, Err: err}
}
