package recordlog

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/output"
)

// chain is a log as the store of a chain.
type chain struct{ *Log }

func (c chain) Sync(context.Context) error { return c.Log.Sync() }

func (c chain) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		v, err := c.View(ctx)
		if err != nil {
			yield(audit.Record{}, err)
			return
		}
		if v.Checkpoint.Seq > 0 && v.Checkpoint.Seq > q.After && !yield(v.Checkpoint, nil) {
			return
		}
		for e, err := range c.Scan(ctx, &v, v.First, v.Checkpoint.Seq+1) {
			if err == nil && q.Last == 1 && e.Seq != v.Head.Seq {
				continue
			}
			if !yield(e.Record, err) || err != nil {
				return
			}
		}
	}
}

func (c chain) Prune(ctx context.Context, checkpoint audit.Record) error {
	return c.Log.Prune(ctx, &checkpoint, 0)
}

// small gives tests many segments.
func small() *Options { return &Options{first: 16 << 10, largest: 32 << 10} }

// logIn makes a log in a folder.
func logIn(t testing.TB, dir string) ID {
	t.Helper()
	id := NewID()
	if err := Create(dir, id, new(audit.Record), small()); err != nil {
		t.Fatal(err)
	}
	return id
}

func openLog(t testing.TB, dir string, id ID) chain {
	t.Helper()
	l, err := Open(dir, id, 0, small())
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return chain{l}
}

func wantRecords(t testing.TB, c chain, records int64, head *audit.Head) {
	t.Helper()
	r := audittest.VerifyRecords(t, c, &audit.VerifyOptions{Head: head})
	if !r.OK() || r.Records != records || head != nil && !r.TailProven {
		t.Errorf("Verify: %s, want %d good records", r.String(), records)
	}
}

func TestALogGoesOn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	var head audit.Head
	for round := range 5 {
		c := openLog(t, dir, id)
		head = audittest.RecordCalls(t, audittest.NewLog(t, c), c, fmt.Sprint(round, "-"), 60)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c := openLog(t, dir, id)
	wantRecords(t, c, 600, &head)
	numbers, err := listSegments(dir)
	if err != nil || len(numbers) < 5 {
		t.Errorf("%d segments, %v, want several", len(numbers), err)
	}
	for _, e := range readDir(t, dir) {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 || strings.HasPrefix(e.Name(), spareName) {
			t.Errorf("%s has mode %o, %v, want 600 and no spare file", e.Name(), info.Mode(), err)
		}
	}
}

func readDir(t testing.TB, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestLargeRecords: one that is larger than a segment gets one of its size.
func TestLargeRecords(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	c := openLog(t, dir, logIn(t, dir))
	l := audittest.NewLog(t, c)
	for i := range 20 {
		e := audittest.NewEvent(audit.KindOutcome, fmt.Sprint(i))
		e.Full = output.Clean(strings.Repeat("x", i*10_000))
		if err := l.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	wantRecords(t, c, 20, nil)
}

// TestSeveralWriters: each opening is what another process has.
func TestSeveralWriters(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	const writers, each = 6, 40
	var wg sync.WaitGroup
	for w := range writers {
		c := openLog(t, dir, id)
		l := audittest.NewLog(t, c)
		wg.Go(func() {
			for i := range each {
				e := audittest.NewEvent(audit.KindOutcome, fmt.Sprint(w, "-", i))
				e.Durable = i%3 == 0
				if err := l.Record(t.Context(), e); err != nil {
					t.Errorf("Record = %v", err)
				}
			}
		})
	}
	wg.Wait()
	wantRecords(t, openLog(t, dir, id), writers*each, nil)
}

// TestTryAppendWaitsForNothing: not for another process, this one or a new segment.
func TestTryAppendWaitsForNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	c, other := openLog(t, dir, id), openLog(t, dir, id)
	empty := func(audit.Head) ([]audit.Record, error) { return nil, nil }
	never := func(audit.Head) ([]audit.Record, error) {
		t.Error("seal was called")
		return nil, nil
	}
	try := func(what string, want bool, seal func(audit.Head) ([]audit.Record, error)) {
		t.Helper()
		if tried, err := c.TryAppend(seal); tried != want || err != nil {
			t.Errorf("%s: TryAppend = %v, %v, want %v", what, tried, err, want)
		}
	}
	audittest.RecordCalls(t, audittest.NewLog(t, other), other, "first", 1)
	try("free", true, func(head audit.Head) ([]audit.Record, error) {
		if newest, err := audit.Newest(t.Context(), other); err != nil || head != newest {
			t.Errorf("seal behind %v, want %v", head, newest)
		}
		return nil, nil
	})
	err := other.withLock(t.Context(), func() error { try("another process writes", false, never); return nil })
	if err == nil {
		err = c.withLock(t.Context(), func() error { try("this one writes", false, never); return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	try("free again", true, empty)
	l := audittest.NewLog(t, c)
	for n := 0; c.hasUsualRoom(); n++ {
		audittest.RecordCalls(t, l, c, fmt.Sprint("full", n), 1)
	}
	try("the segment is nearly full", false, never)
}

// TestPruneUnderWriters prunes through one opening while others write: what
// they know of the end of the log may be gone.
func TestPruneUnderWriters(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	idle, busy, pruner := openLog(t, dir, id), openLog(t, dir, id), openLog(t, dir, id)
	l := audittest.NewLog(t, busy)
	other := audittest.NewLog(t, idle)
	want := int64(0)
	for round := range 6 {
		// Of a segment, then of several, then to the end.
		audittest.RecordCalls(t, l, busy, fmt.Sprint(round, "-"), []int{1, 90, 3}[round%3])
		before := time.Now().Add(time.Hour)
		if _, err := audit.Prune(t.Context(), pruner, audittest.NewKey(t, "key"), before); err != nil {
			t.Fatalf("round %d: Prune = %v", round, err)
		}
		wantRecords(t, idle, 0, nil)
		head := audittest.RecordCalls(t, other, idle, fmt.Sprint("idle", round, "-"), 1)
		wantRecords(t, busy, 2, &head)
		want = head.Seq
	}
	if head, err := audit.Newest(t.Context(), openLog(t, dir, id)); err != nil || head.Seq != want {
		t.Errorf("Newest = %v, %v, want %d", head, err, want)
	}
}
