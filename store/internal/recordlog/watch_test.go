package recordlog

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
)

// seen is what a watch saw: the numbers of records, and 0 for a gap.
type seen []int64

func (s *seen) add(r *audit.Record) {
	if r == nil {
		*s = append(*s, 0)
		return
	}
	*s = append(*s, r.Seq)
}

// TestAWatchSeesEveryRecordOnce: those that were there, its own, and those of others
// over many segments, each before the step that promises it returns.
func TestAWatchSeesEveryRecordOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	here, there := openLog(t, dir, id), openLog(t, dir, id)
	mine, others := audittest.NewLog(t, here), audittest.NewLog(t, there)
	audittest.RecordCalls(t, others, there, "before", 20)
	var s seen
	if err := here.Watch(t.Context(), placeAt(1, 0), 1, s.add); err != nil {
		t.Fatal(err)
	}
	want := func(n int64) {
		t.Helper()
		if int64(len(s)) != n || !slices.IsSorted(s) || n > 0 && (s[0] != 1 || s[n-1] != n) {
			t.Fatalf("saw %d records up to %d, want each of %d once", len(s), s[len(s)-1], n)
		}
	}
	want(40)
	for round := range int64(20) {
		audittest.RecordCalls(t, others, there, "other", 5)
		if err := here.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(40 + round*20 + 10)
		audittest.RecordCalls(t, mine, here, "mine", 5)
		want(40 + round*20 + 20)
	}
}

// TestAWatchIsToldWhatItMissed: what was pruned before it could be seen.
func TestAWatchIsToldWhatItMissed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	here, there := openLog(t, dir, id), openLog(t, dir, id)
	others := audittest.NewLog(t, there)
	var s seen
	if err := here.Watch(t.Context(), placeAt(1, 0), 1, s.add); err != nil {
		t.Fatal(err)
	}
	audittest.RecordCalls(t, others, there, "pruned", 20)
	if n, err := audit.Prune(t.Context(), there, audittest.NewKey(t, "key"), time.Now().Add(time.Hour)); n != 40 || err != nil {
		t.Fatalf("Prune = %d, %v", n, err)
	}
	audittest.RecordCalls(t, others, there, "more", 1)
	if err := here.CatchUp(t.Context()); err != nil || !slices.Equal(s, seen{0}) {
		t.Fatalf("CatchUp = %v, saw %v, want to be told of a gap", err, s)
	}
	s = nil
	if err := here.Watch(t.Context(), placeAt(1, 0), 1, s.add); err != nil || !slices.Equal(s, seen{41, 42}) {
		t.Fatalf("Watch = %v, saw %v, want what is left", err, s)
	}
	// What it has seen may go.
	if n, err := audit.Prune(t.Context(), there, audittest.NewKey(t, "key"), time.Now().Add(time.Hour)); n != 2 || err != nil {
		t.Fatalf("Prune = %d, %v", n, err)
	}
	audittest.RecordCalls(t, others, there, "last", 1)
	if err := here.CatchUp(t.Context()); err != nil || !slices.Equal(s, seen{41, 42, 43, 44}) {
		t.Errorf("CatchUp = %v, saw %v, want no gap", err, s)
	}
}

// TestAStampIsSeenAtOnce by every opening.
func TestAStampIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	here, there := openLog(t, dir, id), openLog(t, dir, id)
	stamps := map[uint64]bool{}
	for range 5 {
		a, err := here.Stamp()
		b, err2 := there.Stamp()
		if err != nil || err2 != nil || a != b || stamps[a] {
			t.Fatalf("Stamp = %d, %v and %d, %v, want a new one in both", a, err, b, err2)
		}
		stamps[a] = true
		if err := there.PutStamp(); err != nil {
			t.Fatal(err)
		}
	}
}
