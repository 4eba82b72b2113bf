package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store"
)

// failing is a state that counts its syncs and fails each.
type failing struct {
	store.State
	syncs int
}

func (f *failing) Sync(context.Context) error { f.syncs++; return errors.New("lost") }

func (*failing) Append(context.Context, func(audit.Head) ([]audit.Record, error)) error { return nil }

// memorySettings accepts every value.
type memorySettings struct{ store.Settings }

func (memorySettings) Put(context.Context, string, string) error { return nil }

// TestB10_ReadinessIsBounded checks that frequent requests do not cause
// frequent writes.
func TestB10_ReadinessIsBounded(t *testing.T) {
	t.Parallel()
	f := &failing{}
	now := time.Now()
	r := &Readiness{g: &Runtime{State: f, Settings: memorySettings{}}, now: func() time.Time { return now }}
	for range 100 {
		if err := r.CheckFresh(t.Context()); err == nil {
			t.Fatal("ready although the record is lost")
		}
	}
	if f.syncs != 1 {
		t.Errorf("looked %d times, want once", f.syncs)
	}
	now = now.Add(readyAge)
	if _ = r.CheckFresh(t.Context()); f.syncs != 2 {
		t.Errorf("looked %d times after a second, want twice", f.syncs)
	}
}
