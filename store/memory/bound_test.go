package memory_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/store/memory"
)

// countBytes returns what the bodies of all records take, and their number.
func countBytes(t *testing.T, s *memory.Store) (size, records int) {
	t.Helper()
	for r, err := range s.Read(t.Context(), audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		size, records = size+len(r.Body), records+1
	}
	return size, records
}

// TestRecordsAreBounded: the oldest go, and the chain verifies up to a head that
// was remembered.
func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	s, err := memory.New(&memory.Options{RecordBytes: most})
	if err != nil {
		t.Fatal(err)
	}
	l := audittest.NewLog(t, s)
	var pruned int64
	for round := range 10 {
		head := audittest.RecordCalls(t, l, s, fmt.Sprint(round, "-"), 100)
		if err := l.Record(t.Context(), audittest.NewEvent(audit.KindChange, "c")); err == nil {
			t.Fatal("a change without a change was recorded")
		}
		r := audittest.VerifyRecords(t, s, &audit.VerifyOptions{Head: &head})
		if !r.OK() || !r.TailProven || r.Records+r.Pruned != head.Seq || r.Pruned < pruned {
			t.Fatalf("Verify: %s, want all records that there were, pruned or not", r.String())
		}
		pruned = r.Pruned
	}
	if size, n := countBytes(t, s); size > most+2000 || n < 20 || pruned == 0 {
		t.Errorf("%d records of %d bytes are left, want at most %d and not much less", n, size, most)
	}
}

// TestOldRecordsGo: a record that is too old goes when another one comes.
func TestOldRecordsGo(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	s, err := memory.New(&memory.Options{RecordAge: time.Hour, Now: func() time.Time { return time.Unix(0, now.Load()) }})
	if err != nil {
		t.Fatal(err)
	}
	l := audittest.NewLog(t, s)
	record := func() {
		t.Helper()
		e := audittest.NewEvent(audit.KindOutcome, "c")
		e.Time = time.Unix(0, now.Load())
		if err := l.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		record()
		now.Add(int64(10 * time.Minute))
	}
	// What is trimmed is trimmed before the next record is written.
	record()
	record()
	r := audittest.VerifyRecords(t, s, nil)
	if !r.OK() || r.Pruned < 3 || r.Pruned > 6 || r.Records+r.Pruned != 12 {
		t.Errorf("Verify: %s, want the records of the last hour", r.String())
	}
}

func TestNewRefusesBadBounds(t *testing.T) {
	t.Parallel()
	for _, o := range []memory.Options{{RecordBytes: -1}, {RecordAge: -1}} {
		if _, err := memory.New(&o); err == nil {
			t.Errorf("New(%+v) = no error, want one", o)
		}
	}
}
