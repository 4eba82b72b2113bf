package todo

import (
	"context"
	"errors"
	"testing"
)

func TestACancelledCallStopsWaitingForTheList(t *testing.T) {
	t.Parallel()
	l := newListLocks()
	unlock, err := l.lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.lock(ctx, "s"); !errors.Is(err, context.Canceled) {
		t.Errorf("lock of a cancelled call = %v, want its end", err)
	}
	unlock()
	if _, err := l.lock(t.Context(), "s"); err != nil {
		t.Errorf("lock = %v, want the list free again", err)
	}
}
