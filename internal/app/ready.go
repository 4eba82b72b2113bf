package app

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

// Readiness checks what a call needs: the state accepts a write to the disk and
// has room for more, the record can continue, and its key can be read. It is
// safe for concurrent use.
type Readiness struct {
	g   *Runtime
	now func() time.Time

	mu  sync.Mutex
	at  time.Time
	err error
}

// NewReadiness returns the checks of a gate.
func (rt *Runtime) NewReadiness() *Readiness { return &Readiness{g: rt, now: time.Now} }

// CheckFresh returns the last answer while it is fresh, and checks again otherwise.
// Requests that arrive during a check wait for its answer.
func (r *Readiness) CheckFresh(context.Context) error {
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
func (rt *Runtime) tryState(ctx context.Context) error {
	if err := rt.Settings.Put(ctx, readySetting, time.Now().UTC().Format(time.RFC3339Nano)); err != nil {
		return notReady(httpapi.ReasonState, err)
	}
	if err := rt.State.Sync(ctx); err != nil {
		return notReady(httpapi.ReasonState, err)
	}
	// A small write can succeed where the next record does not fit.
	if s, ok := rt.State.(store.FullReporter); ok && s.Full() {
		return notReady(httpapi.ReasonState, store.ErrFull)
	}
	if _, err := audit.Newest(ctx, rt.State); err != nil {
		return notReady(httpapi.ReasonState, err)
	}
	if rt.InForce().Config.State.Path == "" {
		return nil // A state in memory keeps its key in memory.
	}
	if _, err := audit.ReadKey(rt.KeyPath()); err != nil {
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
