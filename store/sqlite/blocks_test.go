package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store"
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
		return timedID(i)
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

// timedID returns an id of a call that begins with its time, which is i.
func timedID(i int) string { return fmt.Sprintf("06h1%08dw3ddgrw2wqv3", i) }

func recordTimed(t *testing.T, l *audit.Log, ids ...int) {
	t.Helper()
	for _, i := range ids {
		if err := l.Record(t.Context(), audittest.NewEvent(audit.KindOutcome, timedID(i))); err != nil {
			t.Fatal(err)
		}
	}
}

func upTo(n int) (ids []int) {
	for i := range n {
		ids = append(ids, i+1)
	}
	return ids
}

func numbersOf(t *testing.T, db *sqlite.DB, q audit.Query) (numbers []int64) {
	t.Helper()
	for r, err := range db.Read(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, r.Seq)
	}
	return numbers
}

// wantOneRecord wants that calls are found in an index that is good.
func wantOneRecord(t *testing.T, db *sqlite.DB, calls ...int) {
	t.Helper()
	for _, i := range calls {
		if got := numbersOf(t, db, audit.Query{Call: timedID(i)}); len(got) != 1 {
			t.Errorf("call %d has the records %v, want one", i, got)
		}
	}
	if err := db.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
}

// damagedRecords returns a state whose record names call i in record i, of which some are
// damaged, before or after they were indexed.
func damagedRecords(t *testing.T, n, from, to int, indexed bool) *sqlite.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.NoIndex())
	if err != nil {
		t.Fatal(err)
	}
	l := audittest.NewLog(t, db)
	recordTimed(t, l, upTo(n)...)
	if indexed {
		err = db.IndexAll(t.Context())
	}
	if err := errors.Join(err, l.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	segment := filepath.Join(path+"-log", "00000001")
	text, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i <= to; i++ {
		text[bytes.Index(text, []byte(timedID(i)))] ^= 1
	}
	if err := os.WriteFile(segment, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, path, sqlite.NoIndex())
}

// TestDamageAtTheEndOfABlock: what follows it is given once.
func TestDamageAtTheEndOfABlock(t *testing.T) {
	t.Parallel()
	db := damagedRecords(t, 100, 46, 47, true)
	got := numbersOf(t, db, audit.Query{Tool: "read_file"})
	if len(got) != 98 || got[44] != 45 || got[45] != 48 {
		t.Errorf("records %v, want all but 46 and 47, once", got)
	}
	if got := numbersOf(t, db, audit.Query{Tool: "read_file", Last: 55}); len(got) != 55 || got[0] != 44 {
		t.Errorf("the last 55 are %v", got)
	}
}

// TestDamageOfWholeBlocks: calls are found behind blocks that are not there.
func TestDamageOfWholeBlocks(t *testing.T) {
	t.Parallel()
	db := damagedRecords(t, 600, 150, 330, false)
	if err := db.IndexAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantOneRecord(t, db, upTo(600)[330:]...)
}

// TestABlockOfTwoVersions was begun by the version that had a row for each record.
func TestABlockOfTwoVersions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, sqlite.NoIndex())
	recordTimed(t, audittest.NewLog(t, db), append(upTo(45), 500)...)
	if err := db.IndexAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	db.IndexByRecords(t)
	db = open(t, path, sqlite.NoIndex())
	l := audittest.NewLog(t, db)
	recordTimed(t, l, 200) // in the same block as the greater one
	for i := range 40 {
		recordTimed(t, l, 600+i)
	}
	if err := db.IndexAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantOneRecord(t, db, 1, 500, 200, 600, 639)
}

// TestAMarkThatLies: a record that is neither in the index nor behind its mark would be
// found by no filter.
func TestAMarkThatLies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, sqlite.NoIndex())
	recordTimed(t, audittest.NewLog(t, db), upTo(160)...)
	if err := db.IndexAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"at", "(SELECT at FROM record_blocks WHERE block = 9)", "(SELECT at FROM record_blocks WHERE block = 2)"} {
		for r := range db.Read(t.Context(), audit.Query{After: 95}) {
			rawExec(t, path, fmt.Sprintf("UPDATE record_log SET seq = 96, hash = x'%x', at = %s", r.Hash[:], place))
			break
		}
		db = open(t, path, sqlite.NoIndex())
		for _, q := range []audit.Query{{Tool: "read_file"}, {Call: timedID(120)}} {
			var failed error
			for _, err := range db.Read(t.Context(), q) {
				failed = err
			}
			if !errors.Is(failed, store.ErrDamaged) {
				t.Errorf("%s: %+v ends with %v, want ErrDamaged", place, q, failed)
			}
		}
		if err := db.Check(t.Context()); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: Check = %v, want ErrDamaged", place, err)
		}
	}
}

// TestReadersBesideTheIndex: while another indexes, each record is given once, and the
// index is found good.
func TestReadersBesideTheIndex(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "state.db"), sqlite.NoIndex())
	l := audittest.NewLog(t, db)
	recordTimed(t, l, upTo(1000)...)
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			recordTimed(t, l, 1, 2000+i)
			if err := db.IndexAll(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	for range 30 {
		last := int64(0)
		for _, n := range numbersOf(t, db, audit.Query{Call: timedID(1), After: 800}) {
			if n <= last {
				t.Errorf("record %d is given after %d", n, last)
			}
			last = n
		}
		if err := db.Check(t.Context()); err != nil {
			t.Errorf("Check = %v", err)
		}
	}
	close(end)
	wg.Wait()
}
