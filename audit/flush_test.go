package audit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/audit"
)

// slow is a store whose disk takes a while.
type slow struct {
	slice
	sync func(ctx context.Context) error
}

func (s *slow) Sync(ctx context.Context) error {
	if err := s.sync(ctx); err != nil {
		return err
	}
	return s.slice.Sync(ctx)
}

func durable(call string) *audit.Event {
	e := intent(call)
	e.Durable = true
	return e
}

// TestCommitsGoOnWhileTheDiskWrites: an outcome does not wait for the disk that
// an intent waits for, and the intents that come in between share the next sync.
func TestCommitsGoOnWhileTheDiskWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{sync: func(context.Context) error { time.Sleep(time.Second); return nil }}
		l := newLog(t, s, &audit.Options{Settle: time.Hour})
		defer l.Close()
		start := time.Now()
		var waiting sync.WaitGroup
		for i := range 10 {
			waiting.Go(func() {
				if err := l.Record(t.Context(), durable(fmt.Sprint(i))); err != nil {
					t.Errorf("Record = %v", err)
				}
			})
		}
		time.Sleep(time.Second / 2)
		if err := l.Record(t.Context(), outcome("0")); err != nil {
			t.Errorf("Record = %v", err)
		}
		if took := time.Since(start); took != time.Second/2 {
			t.Errorf("an outcome waited until %v, want no wait for the disk", took)
		}
		waiting.Wait()
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("10 records took %v, want two syncs", took)
		}
	})
}

// TestWhatTheDiskDidNotTakeIsNotKept: the caller of a durable record hears of
// it, and the next settle tries again.
func TestWhatTheDiskDidNotTakeIsNotKept(t *testing.T) {
	broken := errors.New("no space")
	s := &slow{sync: func(context.Context) error { return broken }}
	l := newLog(t, s, nil)
	defer l.Close()
	if err := l.Record(t.Context(), durable("a")); !errors.Is(err, audit.ErrNotKept) || !errors.Is(err, broken) {
		t.Errorf("Record = %v, want ErrNotKept and the store's error", err)
	}
	if err := l.Record(t.Context(), outcome("a")); err != nil {
		t.Errorf("Record of what need not be on the disk = %v", err)
	}
}

// TestWaitingForTheDiskOfOthersEnds with the context of who waits.
func TestWaitingForTheDiskOfOthersEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &slow{sync: func(context.Context) error { <-release; return nil }}
		l := newLog(t, s, nil)
		defer l.Close()
		defer close(release)
		go func() { _ = l.Record(t.Context(), durable("a")) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Record(ctx, durable("b")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Record = %v, want the deadline", err)
		}
	})
}
