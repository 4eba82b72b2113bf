package audit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/audit"
)

func TestWaitingRecordsShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slice{before: func(context.Context) error {
			time.Sleep(time.Second) // a slow disk
			return nil
		}}
		l := newLog(t, s, nil)
		defer l.Close()
		const callers = 100
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				if err := l.Record(t.Context(), intent(fmt.Sprint(i))); err != nil {
					t.Errorf("Record = %v", err)
				}
			})
		}
		wg.Wait()
		if s.commits > 2 {
			t.Errorf("%d records took %d commits, want at most 2", callers, s.commits)
		}
		if r := verify(t, s, nil); !r.OK() || r.Records != callers {
			t.Errorf("Verify: %s, want %d records", r.String(), callers)
		}
	})
}

func TestRecordReturnsAfterTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		commit := make(chan struct{})
		s := &slice{before: func(context.Context) error { <-commit; return nil }}
		l := newLog(t, s, nil)
		defer l.Close()
		returned := false
		go func() {
			if err := l.Record(t.Context(), intent("c")); err != nil {
				t.Errorf("Record = %v", err)
			}
			returned = true
		}()
		synctest.Wait()
		if returned {
			t.Error("Record returned before the commit")
		}
		close(commit)
		synctest.Wait()
		if !returned {
			t.Error("Record did not return after the commit")
		}
	})
}

func TestRecordIsWrittenAlthoughNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slice{before: func(context.Context) error { time.Sleep(time.Second); return nil }}
		l := newLog(t, s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := l.Record(ctx, intent("c"))
		if !errors.Is(err, audit.ErrNotKept) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Record = %v, want ErrNotKept and the deadline", err)
		}
		l.Close()
		if r := verify(t, s, nil); r.Records != 1 {
			t.Errorf("%d records after Close, want the one that was handed over", r.Records)
		}
	})
}

// TestWhatWaitsForTheDisk: an intent that asks for it waits, an outcome does
// not and follows a moment later, or with the next one that waits, or at the
// end.
func TestWhatWaitsForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slice{}
		l := newLog(t, s, &audit.Options{Settle: time.Second})
		record := func(durable bool, after time.Duration) {
			t.Helper()
			e := intent("c")
			e.Durable = durable
			if err := l.Record(t.Context(), e); err != nil {
				t.Errorf("Record = %v", err)
			}
			time.Sleep(after)
		}
		record(true, 2*time.Second)    // owes nothing
		record(false, time.Second/2)   // waits for company
		record(true, 2*time.Second)    // takes it along
		record(false, 3*time.Second/2) // settles
		record(false, time.Second/10)  // cut short by the end
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		want := []string{"append", "sync", "append", "append", "sync", "append", "sync", "append", "sync"}
		if diff := cmp.Diff(want, s.did); diff != "" {
			t.Errorf("what the store did (-want +got):\n%s", diff)
		}
		if r := verify(t, s, nil); !r.OK() || r.Records != 5 {
			t.Errorf("Verify: %s, want 5 records", r.String())
		}
	})
}

// TestAFailedSettleIsTriedAgain: what could not be brought to the disk is owed
// until a later attempt succeeds.
func TestAFailedSettleIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		s := &slice{before: func(context.Context) error {
			if broken.Load() {
				return errors.New("no space")
			}
			return nil
		}}
		l := newLog(t, s, &audit.Options{Settle: time.Second})
		if err := l.Record(t.Context(), intent("c")); err != nil {
			t.Fatal(err)
		}
		broken.Store(true)
		time.Sleep(2 * time.Second)
		broken.Store(false)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"append", "sync"}, s.did); diff != "" {
			t.Errorf("what the store did (-want +got):\n%s", diff)
		}
	})
}

func TestHangingStoreCostsOneTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slice{before: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		l := newLog(t, s, &audit.Options{Timeout: time.Minute, Batch: 1, Waiting: 5})
		defer l.Close()
		start := time.Now()
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if err := l.Record(t.Context(), intent("c")); !errors.Is(err, audit.ErrNotKept) {
					t.Errorf("Record = %v, want ErrNotKept", err)
				}
			})
		}
		wg.Wait()
		if got := time.Since(start); got > 2*time.Minute {
			t.Errorf("six records waited %v, want them to share the timeout", got)
		}
	})
}

func TestFailedCommitKeepsNothing(t *testing.T) {
	full := errors.New("disk is full")
	s := &slice{before: func(context.Context) error { return full }}
	l := newLog(t, s, nil)
	defer l.Close()
	if err := l.Record(t.Context(), intent("a")); !errors.Is(err, audit.ErrNotKept) || !errors.Is(err, full) {
		t.Errorf("Record = %v, want ErrNotKept and the store's error", err)
	}
	s.before = nil
	if err := l.Record(t.Context(), intent("b")); err != nil {
		t.Errorf("Record after the store recovered = %v", err)
	}
	if r := verify(t, s, nil); !r.OK() || r.Records != 1 || r.Head.Seq != 1 {
		t.Errorf("Verify: %s, want one record: no number was used up", r.String())
	}
}

func TestRecordRefusesWhatIsNoEvent(t *testing.T) {
	l := newLog(t, &slice{}, nil)
	defer l.Close()
	for _, kind := range []audit.Kind{"", "checkpoint", "Intent"} {
		if err := l.Record(t.Context(), &audit.Event{Kind: kind}); !errors.Is(err, audit.ErrNotKept) {
			t.Errorf("Record(kind %q) = %v, want ErrNotKept", kind, err)
		}
	}
}

func TestClosedLog(t *testing.T) {
	l := newLog(t, &slice{}, nil)
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	if err := l.Record(t.Context(), intent("c")); !errors.Is(err, audit.ErrNotKept) {
		t.Errorf("Record = %v, want ErrNotKept", err)
	}
}

func TestCloseWhileRecording(t *testing.T) {
	t.Run("queued", func(t *testing.T) {
		s := &slice{}
		closeWhileRecording(t, s, s)
	})
	t.Run("tried", func(t *testing.T) {
		for range 20 {
			s := &triable{}
			closeWhileRecording(t, s, &s.slice)
		}
	})
}

func closeWhileRecording(t *testing.T, store audit.Store, s *slice) {
	t.Helper()
	l := newLog(t, store, &audit.Options{Waiting: 1, Batch: 2})
	var wg sync.WaitGroup
	kept := make([]int, 16)
	for i := range kept {
		wg.Go(func() {
			for l.Record(t.Context(), intent("c")) == nil {
				kept[i]++
			}
		})
	}
	for {
		s.mu.Lock()
		enough := s.commits > 20
		s.mu.Unlock()
		if enough {
			break
		}
	}
	l.Close()
	wg.Wait()
	total := 0
	for _, n := range kept {
		total += n
	}
	if r := verify(t, s, nil); !r.OK() || r.Records != int64(total) {
		t.Errorf("Verify: %s, want the %d records that were acknowledged", r.String(), total)
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name  string
		store audit.Store
		key   audit.Key
		o     *audit.Options
	}{
		{"no store", nil, key(t, "key"), nil},
		{"no key", &slice{}, audit.Key{}, nil},
		{"negative option", &slice{}, key(t, "key"), &audit.Options{Batch: -1}},
		{"another key", chain(t, 1), key(t, "other"), nil},
	}
	for _, tt := range tests {
		if l, err := audit.New(tt.store, tt.key, tt.o); err == nil {
			l.Close()
			t.Errorf("%s: New = no error, want one", tt.name)
		}
	}
}

func TestNewGoesOnAfterABadRecord(t *testing.T) {
	s := chain(t, 2)
	s.records[3].Hash[0] ^= 1
	l := newLog(t, s, nil)
	defer l.Close()
	if err := l.Record(t.Context(), intent("c")); err != nil {
		t.Errorf("Record = %v, want the chain to go on", err)
	}
	if r := verify(t, s, nil); r.OK() || r.Bad.Seq != 4 {
		t.Errorf("Verify: %s, want record 4 bad still", r.String())
	}
}

func TestUnfinished(t *testing.T) {
	events := []audit.Event{*intent("a"), *intent("b"), *outcome("a"), *outcome("denied")}
	got := audit.Unfinished(events)
	if len(got) != 1 || got[0].CallID != "b" {
		t.Errorf("Unfinished = %v, want b alone", got)
	}
}
