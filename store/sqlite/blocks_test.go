package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/sqlite"
)

// TestQueriesOfTheIndex asks each filter of a record of which part is indexed, and
// compares with what matches one by one; so with the index of an older version.
func TestQueriesOfTheIndex(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, sqlite.NoIndex())
	l := audittest.NewLog(t, db)
	start := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	const records = 3000
	for i := range records {
		e := audittest.NewEvent(audit.KindOutcome, callName(i/2))
		if i%60 == 59 {
			e = audittest.NewEvent(audit.KindOutcome, callName(i/4)) // which ran for long
		}
		// The clock goes back now and then.
		e.Time = start.Add(time.Duration(i-i%7*3) * time.Second)
		e.Tool, e.Principal = []output.Clean{"a", "b", "c"}[i%3], []string{"p", "q"}[i%2]
		e.OK, e.Stage = i%5 != 0, "grant"
		if err := l.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if i == records-500 {
			if err := db.IndexAll(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	compareQueries(t, db, start)
	// The next process takes over the index that an older version made, with more behind it.
	if err := db.IndexAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	db.IndexByRecords(t)
	db = open(t, path, sqlite.NoIndex())
	audittest.RecordCalls(t, audittest.NewLog(t, db), db, "new", 30)
	compareQueries(t, db, start)
	if err := db.IndexAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	compareQueries(t, db, start)
}

// timedPrefix with a digit is an id as the gate gives.
const timedPrefix = "06h1x9jeynw3w3ddgrw2wqv"

// callName returns an id as the gate gives, or another one.
func callName(i int) string {
	if i%2 == 0 {
		return fmt.Sprintf("06h1%08dw3ddgrw2wqv3", i)
	}
	return fmt.Sprint("call", i)
}

// compareQueries compares what an index gives with what matches one by one.
func compareQueries(t *testing.T, db *sqlite.DB, start time.Time) {
	t.Helper()
	var all []audit.Record
	for r, err := range db.Read(t.Context(), audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	for _, q := range []audit.Query{
		{Call: callName(7)},
		{Call: callName(1490)},
		{Call: callName(1499)},
		{Call: callName(1490 / 4 * 2)},
		{Call: callName(314)},
		{Call: callName(8), Tool: "a"},
		{Call: callName(314), After: 700},
		{Call: "none"},
		{Tool: "a"},
		{Tool: "none"},
		{Principal: "q"},
		{Denied: true},
		{Denied: true, Tool: "b"},
		{Denied: true, Principal: "p"},
		{Tool: "a", Principal: "p"},
		{Denied: true, Tool: "c", Principal: "q"},
		{Since: start.Add(1000 * time.Second)},
		{Since: start.Add(2900 * time.Second), Tool: "a"},
		{Since: start.Add(time.Hour)},
		{After: 2400, Tool: "b"},
		{After: 2990},
		{After: 100, Principal: "p", Since: start.Add(50 * time.Second)},
	} {
		for _, last := range []int{0, 1, 5, 700} {
			q.Last = last
			var want []int64
			for i := range all {
				if q.Match(&all[i]) {
					want = append(want, all[i].Seq)
				}
			}
			if last > 0 {
				want = want[max(0, len(want)-last):]
			}
			var got []int64
			for r, err := range db.Read(t.Context(), q) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.Seq)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v gives %d records, want %d", q, len(got), len(want))
			}
		}
	}
	if err := db.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
}

// TestRowsBeyondTheMark finds rows in the index that its mark does not cover: what they
// say is nothing.
func TestRowsBeyondTheMark(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, sqlite.NoIndex())
	l := audittest.NewLog(t, db)
	audittest.RecordCalls(t, l, db, "before", 2)
	if err := db.IndexAll(t.Context()); err != nil {
		t.Fatalf("IndexAll = %v", err)
	}
	rawExec(t, path, `INSERT INTO record_blocks SELECT block + 1, first + 16, at, newest + 1, latest + 1 FROM record_blocks;
		INSERT INTO record_names SELECT kind, name, block + 1 FROM record_names`)
	audittest.RecordCalls(t, l, db, "after", 12)
	if err := db.IndexAll(t.Context()); err != nil {
		t.Fatalf("IndexAll = %v", err)
	}
	for call, want := range map[string]int{"before0": 2, "before1": 2, "after0": 2, "after2": 2} {
		if got := count(t, db, audit.Query{Call: call}); got != want {
			t.Errorf("%d records of %s, want %d", got, call, want)
		}
	}
	if err := db.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
}
