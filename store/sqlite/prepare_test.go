package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/store"
)

// TestStatementsArePreparedOnce: the engine prepares some statements anew
// whenever they are bound, which costs more than running them.
func TestStatementsArePreparedOnce(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), &Options{Limits: store.Limits{Reads: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range 5 {
		useAll(t, db, i)
	}
	err = db.inWriteTx(t.Context(), false, func(c *conn) error {
		if len(c.stmts) < 10 {
			t.Errorf("%d statements are kept", len(c.stmts))
		}
		for sql, s := range c.stmts {
			if n := s.Status(sqlite3.STMTSTATUS_REPREPARE, false); n > 1 {
				t.Errorf("prepared %d times more: %s", n, sql)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// useAll does what calls do.
func useAll(t *testing.T, db *DB, i int) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := db.Admit(ctx, "t/p", sallyport.RateLimit{Requests: 2, Window: time.Nanosecond})
	check(err)
	_, _, err = db.Switches().Stopped(ctx, "p", "p/s", "t")
	check(err)
	db.switches = answerLeases[struct{}, []auth.Switch]{} // so that the next one asks again
	_, err = db.Facts().Note(ctx, "p", "s", []sallyport.FactMark{{Fact: sallyport.FactPrivate, Time: time.Now()}})
	check(err)
	check(db.Remember(ctx, "s", sallyport.ReadRecord{Path: fmt.Sprint(i), Time: time.Now()}))
	_, _, err = db.Recall(ctx, "s", "0", "")
	check(err)
	check(db.Append(ctx, func(h audit.Head) ([]audit.Record, error) {
		return []audit.Record{{Seq: h.Seq + 1, Kind: audit.KindIntent, Body: []byte("{}")}}, nil
	}))
}
