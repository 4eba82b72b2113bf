package audit_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/audit"
)

// triable is a store whose commits wait for nothing while it is not busy.
type triable struct {
	slice
	busy  atomic.Bool
	tries atomic.Int32
}

func (s *triable) TryAppend(seal func(audit.Head) ([]audit.Record, error)) (tried bool, err error) {
	s.tries.Add(1)
	if s.busy.Load() {
		return false, nil
	}
	err = s.Append(context.Background(), seal)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.did[len(s.did)-1] = "try"
	}
	return true, err
}

// A record that is alone is committed by who brings it, where that waits for nothing,
// and is brought to the disk as others are.
func TestALoneRecordIsCommittedByItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &triable{}
		l := newLog(t, s, &audit.Options{Settle: time.Second})
		record := func(call string, durable bool) {
			t.Helper()
			e := intent(call)
			e.Durable = durable
			if err := l.Record(t.Context(), e); err != nil {
				t.Errorf("Record = %v", err)
			}
		}
		record("a", true)
		record("b", false)
		time.Sleep(2 * time.Second)
		s.busy.Store(true)
		record("c", false)
		s.busy.Store(false)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"try", "sync", "try", "sync", "append", "sync"}, s.did); diff != "" {
			t.Errorf("what the store did (-want +got):\n%s", diff)
		}
		if r := verify(t, s, nil); !r.OK() || r.Records != 3 {
			t.Errorf("Verify: %s, want 3 records", r.String())
		}
		tries := s.tries.Load()
		if err := l.Record(t.Context(), intent("d")); !errors.Is(err, audit.ErrNotKept) || s.tries.Load() != tries {
			t.Errorf("Record after Close = %v after %d tries, want ErrNotKept and none", err, s.tries.Load()-tries)
		}
	})
}

// A commit that was tried and failed is the caller's to hear of, and is not made again.
func TestALoneRecordThatIsNotKept(t *testing.T) {
	t.Parallel()
	full := errors.New("no space")
	s := &triable{slice: slice{before: func(context.Context) error { return full }}}
	l := newLog(t, s, nil)
	if err := l.Record(t.Context(), intent("a")); !errors.Is(err, audit.ErrNotKept) || !errors.Is(err, full) {
		t.Errorf("Record = %v, want ErrNotKept over the error of the store", err)
	}
	s.before = nil
	if err := l.Record(t.Context(), intent("b")); err != nil {
		t.Errorf("Record = %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"try", "sync"}, s.did); diff != "" {
		t.Errorf("what the store did (-want +got):\n%s", diff)
	}
}

// While a commit that was tried takes long, other callers wait as long as they want to.
func TestACommitThatTakesLongHoldsNoOtherCaller(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	s := &triable{}
	s.before = func(context.Context) error {
		if s.tries.Load() == 1 {
			select {
			case <-begun:
			default:
				close(begun)
				<-release
			}
		}
		return nil
	}
	l := newLog(t, s, nil)
	first := make(chan error)
	go func() { first <- l.Record(t.Context(), intent("a")) }()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := l.Record(ctx, intent("b")); !errors.Is(err, audit.ErrNotKept) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Record = %v, want that the wait has ended", err)
	}
	close(release)
	if err := errors.Join(<-first, l.Close()); err != nil {
		t.Error(err)
	}
	if r := verify(t, s, nil); !r.OK() || r.Records != 2 || s.tries.Load() != 1 {
		t.Errorf("Verify: %s after %d tries, want 2 records and one", r.String(), s.tries.Load())
	}
}
