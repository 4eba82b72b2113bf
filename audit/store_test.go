package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
)

// slice is a store in a slice. Tests change its records behind its back.
type slice struct {
	mu      sync.Mutex
	records []audit.Record
	commits int
	// did has a word for each successful Append and Sync.
	did []string
	// before is called in front of each Append and Sync; its error fails it.
	before func(ctx context.Context) error
}

func (s *slice) Append(ctx context.Context, seal func(audit.Head) ([]audit.Record, error)) error {
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var head audit.Head
	if n := len(s.records); n > 0 {
		head = s.records[n-1].Head()
	}
	records, err := seal(head)
	if err != nil {
		return err
	}
	s.commits++
	s.did = append(s.did, "append")
	for _, r := range records {
		r.Body = bytes.Clone(r.Body)
		s.records = append(s.records, r)
	}
	return nil
}

func (s *slice) Sync(ctx context.Context) error {
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, "sync")
	return nil
}

func (s *slice) Read(_ context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		s.mu.Lock()
		records := append([]audit.Record(nil), s.records...)
		s.mu.Unlock()
		if q.Last > 0 && len(records) > q.Last {
			records = records[len(records)-q.Last:]
		}
		for i := range records {
			if q.Match(&records[i]) && !yield(records[i], nil) {
				return
			}
		}
	}
}

func (s *slice) Prune(_ context.Context, checkpoint audit.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.records {
		if s.records[i].Seq == checkpoint.Seq {
			s.records = append([]audit.Record{checkpoint}, s.records[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("no record %d", checkpoint.Seq)
}

func key(t testing.TB, word string) audit.Key {
	t.Helper()
	k, err := audit.NewKey([]byte(fmt.Sprintf("%032s", word)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newLog(t testing.TB, s audit.Store, o *audit.Options) *audit.Log {
	t.Helper()
	l, err := audit.New(s, key(t, "key"), o)
	if err != nil {
		t.Fatalf("New = %v", err)
	}
	return l
}

func intent(call string) *audit.Event {
	return &audit.Event{Kind: audit.KindIntent, CallID: call, Tool: "t", Principal: "local"}
}

func outcome(call string) *audit.Event {
	return &audit.Event{Kind: audit.KindOutcome, CallID: call, Tool: "t", Principal: "local", OK: true}
}

// chain returns a store with n calls, two records each, always the same.
func chain(t testing.TB, n int) *slice {
	t.Helper()
	s := &slice{}
	l := newLog(t, s, &audit.Options{Now: func() time.Time { return time.Unix(1_770_000_000, 0) }})
	defer l.Close()
	for i := range n {
		for _, e := range []*audit.Event{intent(fmt.Sprint("c", i)), outcome(fmt.Sprint("c", i))} {
			if err := l.Record(t.Context(), e); err != nil {
				t.Fatalf("Record = %v", err)
			}
		}
	}
	return s
}

func verify(t testing.TB, r audit.Reader, o *audit.VerifyOptions) audit.Report {
	t.Helper()
	report, err := audit.Verify(t.Context(), r, key(t, "key"), o)
	if err != nil {
		t.Fatalf("Verify = %v", err)
	}
	return report
}
