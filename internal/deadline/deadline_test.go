package deadline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/internal/deadline"
)

type key struct{}

var errWhy = errors.New("why")

// TestContextEndsLikeOneOfTheLibrary compares every way to end with what package
// context makes of it, for those who wait and for those who only ask.
func TestContextEndsLikeOneOfTheLibrary(t *testing.T) {
	t.Parallel()
	ends := map[string]func(cancelParent context.CancelCauseFunc, cancel func()){
		"not at all":      func(context.CancelCauseFunc, func()) {},
		"cancelled":       func(_ context.CancelCauseFunc, cancel func()) { cancel() },
		"with its parent": func(cancelParent context.CancelCauseFunc, _ func()) { cancelParent(errWhy) },
		"at the deadline": func(context.CancelCauseFunc, func()) { time.Sleep(2 * time.Second) },
		"cancelled late": func(_ context.CancelCauseFunc, cancel func()) {
			time.Sleep(2 * time.Second)
			cancel()
		},
		"cancelled before the deadline": func(_ context.CancelCauseFunc, cancel func()) {
			cancel()
			time.Sleep(2 * time.Second)
		},
	}
	for name, end := range ends {
		for _, limit := range []time.Duration{0, time.Second} {
			for _, waits := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					parent, cancelParent := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
					var at time.Time
					want, cancelWant := context.WithCancel(parent)
					if limit > 0 {
						at = time.Now().Add(limit)
						want, cancelWant = context.WithDeadline(parent, at)
					}
					var got deadline.Context
					got.Start(parent, at)
					child := context.Context(&got)
					if waits {
						var cancelChild context.CancelFunc
						child, cancelChild = context.WithCancel(&got)
						defer cancelChild()
					}
					end(cancelParent, func() { cancelWant(); got.Cancel() })
					synctest.Wait()
					for _, c := range []context.Context{&got, child} {
						if c.Err() != want.Err() || context.Cause(c) != context.Cause(want) || c.Value(key{}) != "value" {
							t.Errorf("%s, limit %v, waits %v: ended with %v because of %v, want %v because of %v",
								name, limit, waits, c.Err(), context.Cause(c), want.Err(), context.Cause(want))
						}
					}
					if gotAt, ok := got.Deadline(); !gotAt.Equal(at) || ok != (limit > 0) {
						t.Errorf("%s, limit %v: the deadline is %v, %v", name, limit, gotAt, ok)
					}
					select {
					case <-got.Done():
						if want.Err() == nil {
							t.Errorf("%s, limit %v, waits %v: is done", name, limit, waits)
						}
					default:
						if want.Err() != nil {
							t.Errorf("%s, limit %v, waits %v: is not done", name, limit, waits)
						}
					}
					if got.Err() != want.Err() || context.Cause(&got) != context.Cause(want) {
						t.Errorf("%s, limit %v, waits %v: ended with %v afterwards, want %v", name, limit, waits, got.Err(), want.Err())
					}
					cancelParent(nil)
					cancelWant()
					got.Cancel()
				})
			}
		}
	}
}

// TestTheEarlierDeadlineCounts is about a parent that ends first.
func TestTheEarlierDeadlineCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(time.Second)
		parent, cancel := context.WithDeadline(t.Context(), soon)
		defer cancel()
		var c deadline.Context
		c.Start(parent, soon.Add(time.Hour))
		defer c.Cancel()
		if at, ok := c.Deadline(); !ok || !at.Equal(soon) {
			t.Errorf("the deadline is %v, %v, want %v", at, ok, soon)
		}
		<-c.Done()
		if !errors.Is(c.Err(), context.DeadlineExceeded) {
			t.Errorf("ended with %v", c.Err())
		}
	})
}

// TestAskingCostsNothing is the purpose: nothing is made for one that is over
// before something waits.
func TestAskingCostsNothing(t *testing.T) {
	parent, at := t.Context(), time.Now().Add(time.Hour)
	var c *deadline.Context
	made := testing.AllocsPerRun(100, func() {
		c = new(deadline.Context)
		c.Start(parent, at)
		if c.Err() != nil || c.Value(key{}) != nil {
			t.Error("ended")
		}
		c.Cancel()
	})
	if made > 1 {
		t.Errorf("%v allocations, want that of the context alone", made)
	}
}
