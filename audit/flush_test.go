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

// heldRecords begins a sync that takes a second, and records ten calls during it. It
// returns the error of each once all have ended.
func heldRecords(t *testing.T, l *audit.Log) map[string]error {
	t.Helper()
	errs := map[string]error{}
	var mu sync.Mutex
	var waiting sync.WaitGroup
	record := func(call string) {
		waiting.Go(func() {
			err := l.Record(t.Context(), durable(call))
			mu.Lock()
			defer mu.Unlock()
			errs[call] = err
		})
	}
	record("first")
	synctest.Wait()
	for i := range 10 {
		record(fmt.Sprint(i))
	}
	synctest.Wait()
	waiting.Wait()
	return errs
}

// TestRecordsOfOneSyncAreCommittedTogether: what comes while the disk writes is added by
// one commit before the next sync.
func TestRecordsOfOneSyncAreCommittedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{sync: func(context.Context) error { time.Sleep(time.Second); return nil }}
		l := newLog(t, s, &audit.Options{Settle: time.Hour})
		for call, err := range heldRecords(t, l) {
			if err != nil {
				t.Errorf("Record of %s = %v", call, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"append", "sync", "append", "sync"}, s.did); diff != "" {
			t.Errorf("what the store did (-want +got):\n%s", diff)
		}
		if r := verify(t, s, nil); !r.OK() || r.Records != 11 {
			t.Errorf("Verify: %s, want 11 records", r.String())
		}
	})
}

// failing is a store whose commits, or whose syncs, fail from a moment on.
type failing struct {
	slice
	commits, syncs atomic.Bool
}

var errBroken = errors.New("no space")

func (s *failing) Append(ctx context.Context, seal func(audit.Head) ([]audit.Record, error)) error {
	if s.commits.Load() {
		return errBroken
	}
	return s.slice.Append(ctx, seal)
}

func (s *failing) Sync(ctx context.Context) error {
	failed := s.syncs.Load()
	time.Sleep(time.Second)
	if failed {
		return errBroken
	}
	return s.slice.Sync(ctx)
}

// TestHeldRecordsThatAreNotKept: each caller hears of a commit or a sync that failed, and
// the log goes on.
func TestHeldRecordsThatAreNotKept(t *testing.T) {
	for name, fails := range map[string]func(s *failing) *atomic.Bool{
		"the commit": func(s *failing) *atomic.Bool { return &s.commits },
		"the sync":   func(s *failing) *atomic.Bool { return &s.syncs },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &failing{}
				l := newLog(t, s, &audit.Options{Settle: time.Hour})
				time.AfterFunc(time.Second/2, func() { fails(s).Store(true) })
				for call, err := range heldRecords(t, l) {
					if failed := errors.Is(err, audit.ErrNotKept) && errors.Is(err, errBroken); failed != (call != "first") {
						t.Errorf("Record of %s = %v", call, err)
					}
				}
				fails(s).Store(false)
				if err := errors.Join(l.Record(t.Context(), durable("later")), l.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestCloseWaitsForHeldRecords, and one whose caller has gone is kept all the same.
func TestCloseWaitsForHeldRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{sync: func(context.Context) error { time.Sleep(time.Second); return nil }}
		l := newLog(t, s, &audit.Options{Settle: time.Hour})
		go func() { _ = l.Record(t.Context(), durable("a")) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if err := l.Record(ctx, durable("b")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Record = %v, want the deadline", err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"append", "sync", "append", "sync"}, s.did); diff != "" {
			t.Errorf("what the store did until Close returned (-want +got):\n%s", diff)
		}
		if err := l.Record(t.Context(), durable("c")); !errors.Is(err, audit.ErrNotKept) {
			t.Errorf("Record after Close = %v", err)
		}
	})
}

// TestNoMoreRecordsAreHeldThanMayWait: one more is committed at once.
func TestNoMoreRecordsAreHeldThanMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{sync: func(context.Context) error { time.Sleep(time.Second); return nil }}
		l := newLog(t, s, &audit.Options{Settle: time.Hour, Waiting: 9})
		for call, err := range heldRecords(t, l) {
			if err != nil {
				t.Errorf("Record of %s = %v", call, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"append", "append", "sync", "append", "sync"}, s.did); diff != "" {
			t.Errorf("what the store did (-want +got):\n%s", diff)
		}
	})
}

// TestAHeldCommitThatFailsLeavesTheOthers: outcomes wait for the committer at that moment,
// which takes some of them itself.
func TestAHeldCommitThatFailsLeavesTheOthers(t *testing.T) {
	t.Parallel()
	for range 20 {
		s := &gated{syncing: make(chan struct{}), release: make(chan struct{})}
		l := newLog(t, s, &audit.Options{Settle: time.Hour, Batch: 1})
		var waiting sync.WaitGroup
		record := func(e *audit.Event) {
			waiting.Go(func() { _ = l.Record(context.Background(), e) }) // may fail with the held one
		}
		record(durable("first"))
		<-s.syncing
		record(durable("held"))
		for i := range 400 {
			record(outcome(fmt.Sprint(i)))
		}
		time.Sleep(5 * time.Millisecond)
		close(s.release)
		ended := make(chan struct{})
		go func() { waiting.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("records wait for ever")
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// gated is a store whose first sync waits, and whose commit of the record "held" fails.
type gated struct {
	slice
	syncing, release chan struct{}
}

func (s *gated) Sync(context.Context) error {
	select {
	case s.syncing <- struct{}{}:
		<-s.release
	default:
	}
	return nil
}

func (s *gated) Append(ctx context.Context, seal func(audit.Head) ([]audit.Record, error)) error {
	return s.slice.Append(ctx, func(head audit.Head) ([]audit.Record, error) {
		records, err := seal(head)
		if len(records) > 0 && records[0].Call == "held" {
			return nil, errBroken
		}
		time.Sleep(time.Millisecond)
		return records, err
	})
}
