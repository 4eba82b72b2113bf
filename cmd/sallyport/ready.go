package main

import (
	"context"
	"errors"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/store"
)

const (
	// readySetting is the state's key of the value that a look writes.
	readySetting = "ready/probe"
)

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
