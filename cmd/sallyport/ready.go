package main

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
	// readyAge is how long an answer is given again: anybody may ask, and each
	// look writes to the disk.
	readyAge = time.Second
	// readyWait bounds one look.
	readyWait = 5 * time.Second
	// readySetting is the state's key of the value that a look writes.
	readySetting = "ready/probe"
)

// readiness tries what a call needs: that the state takes a write to the disk,
// that there is room for more, that the record goes on, and that its key can be
// read. It is safe for concurrent use.
type readiness struct {
	g   *gate
	now func() time.Time

	mu  sync.Mutex
	at  time.Time
	err error
}

// check returns the last answer while it is fresh, and looks again otherwise.
// Whoever asks during a look gets its answer.
func (r *readiness) check(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.at.IsZero() || now.Sub(r.at) >= readyAge {
		// The answer is for others, too: one client that goes must not spoil it.
		ctx, cancel := context.WithTimeout(context.Background(), readyWait)
		defer cancel()
		r.err = r.g.tryState(ctx)
		r.at = r.now()
	}
	return r.err
}

// tryState returns what keeps calls from being served, as an [*httpapi.Unready].
func (g *gate) tryState(ctx context.Context) error {
	if err := g.settings.Put(ctx, readySetting, time.Now().UTC().Format(time.RFC3339Nano)); err != nil {
		return unready(httpapi.ReasonState, err)
	}
	if err := g.state.Sync(ctx); err != nil {
		return unready(httpapi.ReasonState, err)
	}
	// A small write finds a place where the next record does not.
	if s, ok := g.state.(interface{ Full() bool }); ok && s.Full() {
		return unready(httpapi.ReasonState, store.ErrFull)
	}
	if _, err := g.head(ctx); err != nil {
		return unready(httpapi.ReasonState, err)
	}
	if g.config.State.Path == "" {
		return nil // A state in memory has its key there.
	}
	if _, err := audit.ReadKey(g.keyPath()); err != nil {
		return unready(httpapi.ReasonKey, err)
	}
	return nil
}

// unready sorts an error of the state by what an operator has to look at.
func unready(reason httpapi.Reason, err error) error {
	if errors.Is(err, store.ErrFull) {
		reason = httpapi.ReasonDisk
	}
	return &httpapi.Unready{Reason: reason, Err: err}
}
