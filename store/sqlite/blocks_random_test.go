package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/sqlite"
)

// TestQueriesAtRandom records, indexes, prunes and goes back to the older index at random,
// with two stores, and compares queries at random with what matches one by one.
func TestQueriesAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		r := randomRecord{rand: rand.New(rand.NewPCG(seed, 7)), path: filepath.Join(t.TempDir(), "state.db")}
		r.reopen(t)
		for range 25 {
			r.step(t)
		}
		var all []audit.Record
		for rec, err := range r.db[0].Read(t.Context(), audit.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, rec)
		}
		for range 300 {
			q := r.query()
			var want []int64
			for i := range all {
				if q.Match(&all[i]) {
					want = append(want, all[i].Seq)
				}
			}
			if q.Last > 0 {
				want = want[max(0, len(want)-q.Last):]
			}
			if got := numbersOf(t, r.db[0], q); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("seed %d: %+v gives %v, want %v", seed, q, got, want)
			}
		}
		if err := r.db[0].Check(t.Context()); err != nil {
			t.Errorf("seed %d: Check = %v", seed, err)
		}
	}
}

var randomStart = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

type randomRecord struct {
	rand *rand.Rand
	path string
	db   [2]*sqlite.DB
	log  [2]*audit.Log
	// calls counts the records, ids are what they name.
	calls int
	ids   []string
}

func (r *randomRecord) reopen(t *testing.T) {
	for i := range r.db {
		r.db[i] = open(t, r.path, sqlite.NoIndex())
		r.log[i] = audittest.NewLog(t, r.db[i])
	}
}

func (r *randomRecord) step(t *testing.T) {
	t.Helper()
	db := r.db[r.rand.IntN(2)]
	var err error
	switch k := r.rand.IntN(30); {
	case k < 18 || r.calls == 0:
		for range 1 + r.rand.IntN(150) {
			r.record(t)
		}
	case k < 25:
		err = db.IndexAll(t.Context())
	case k < 28:
		_, err = audit.Prune(t.Context(), db, audittest.NewKey(t, "key"), randomStart.Add(time.Duration(r.rand.IntN(r.calls))*time.Second))
	default:
		if err = db.IndexAll(t.Context()); err == nil {
			db.IndexByRecords(t)
			r.reopen(t)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// record adds a record: in order, late, of a clock that is ahead, or with another id.
func (r *randomRecord) record(t *testing.T) {
	t.Helper()
	r.calls++
	id := timedID(r.calls)
	switch r.rand.IntN(12) {
	case 0:
		id = timedID(1 + r.rand.IntN(r.calls))
	case 1:
		id = timedID(r.calls + r.rand.IntN(400))
	case 2:
		id = fmt.Sprint("x", r.rand.IntN(r.calls))
	}
	r.ids = append(r.ids, id)
	e := audittest.NewEvent(audit.KindOutcome, id)
	e.Time = randomStart.Add(time.Duration(r.calls-r.rand.IntN(30)) * time.Second)
	e.Tool, e.Principal = output.Clean(fmt.Sprint("t", r.rand.IntN(9))), fmt.Sprint("p", r.rand.IntN(5))
	e.OK, e.Stage = r.rand.IntN(9) != 0, "grant"
	if err := r.log[r.rand.IntN(2)].Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func (r *randomRecord) query() (q audit.Query) {
	if r.rand.IntN(2) == 0 {
		q.Call = r.ids[r.rand.IntN(len(r.ids))]
	}
	if r.rand.IntN(3) == 0 {
		q.Tool = fmt.Sprint("t", r.rand.IntN(9))
	}
	if r.rand.IntN(3) == 0 {
		q.Principal = fmt.Sprint("p", r.rand.IntN(5))
	}
	q.Denied = r.rand.IntN(4) == 0
	if r.rand.IntN(3) == 0 {
		q.After = int64(r.rand.IntN(r.calls))
	}
	if r.rand.IntN(3) == 0 {
		q.Since = randomStart.Add(time.Duration(r.rand.IntN(r.calls)) * time.Second)
	}
	if r.rand.IntN(3) == 0 {
		q.Last = 1 + r.rand.IntN(50)
	}
	return q
}
