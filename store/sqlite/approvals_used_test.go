package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/store/sqlite"
)

// approve holds a call and approves it.
func approve(t testing.TB, db *sqlite.DB, id string) {
	t.Helper()
	a := heldBy(id)
	a.Digest = "d-" + id
	if _, err := db.Approvals().Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := db.Approvals().Decide(t.Context(), id, "boss", true, ""); err != nil {
		t.Fatal(err)
	}
}

// TestAUseWaitsForTheDiskOnce: a use that is in the record waits for nothing else. One
// that is not, or not in the record of this state, waits for the disk itself.
func TestAUseWaitsForTheDiskOnce(t *testing.T) {
	t.Parallel()
	db, elsewhere := open(t, t.TempDir()+"/state.db", nil), open(t, t.TempDir()+"/state.db", nil)
	here, there := audittest.NewLog(t, db), audittest.NewLog(t, elsewhere)
	// From the second record on its caller may write it.
	audittest.RecordCalls(t, here, db, "before", 1)
	broken := errors.New("broken")
	for _, c := range []struct {
		id       string
		log      *audit.Log
		recorded bool
		waits    bool
	}{
		{"here", here, true, false},
		{"unsure", here, false, true},
		{"elsewhere", there, true, true},
		{"nowhere", nil, true, true},
	} {
		approve(t, db, c.id)
		settle, ok, err := db.Approvals().(approvals.Claimer).Claim(t.Context(), c.id)
		if !ok || err != nil {
			t.Fatalf("Claim(%s) = %v, %v", c.id, ok, err)
		}
		if c.log != nil {
			if err := recordUse(t.Context(), c.log, c.id); err != nil {
				t.Fatal(err)
			}
		}
		db.LoseWriteAheadLog(broken)
		if err := settle(c.recorded); (err != nil) != c.waits {
			t.Errorf("%s: settle = %v, want a wait for the disk %t", c.id, err, c.waits)
		}
		db.LoseWriteAheadLog(nil)
	}
}

// restored are the file as it was before an approval was used and the record as it is
// afterwards: what a loss of power may leave, or a person who puts an older file back.
func restored(t *testing.T) (dir string) {
	t.Helper()
	was, dir := filepath.Join(t.TempDir(), "state.db"), t.TempDir()
	db, err := sqlite.Open(t.Context(), was, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := audit.New(db, audittest.NewKey(t, "key"), nil)
	if err != nil {
		t.Fatal(err)
	}
	audittest.RecordCalls(t, l, db, "before", 3)
	approve(t, db, "used")
	approve(t, db, "unused")
	claimRule(t, db, l, 2)
	path := filepath.Join(dir, "state.db")
	if err := errors.Join(db.IndexAll(t.Context()), db.Backup(t.Context(), path)); err != nil {
		t.Fatal(err)
	}
	if ok, err := runOn(t.Context(), db.Approvals(), l, "used"); !ok || err != nil {
		t.Fatalf("the run = %v, %v", ok, err)
	}
	claimRule(t, db, l, 5)
	audittest.RecordCalls(t, l, db, "after", 3)
	if err := errors.Join(l.Close(), db.Close(), os.RemoveAll(path+"-log"), os.CopyFS(path+"-log", os.DirFS(was+"-log"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// claimRule takes runs of a rule up to a number, for calls whose intents say so. One of
// another rule, which has ended, is taken besides.
func claimRule(t *testing.T, db *sqlite.DB, l *audit.Log, upTo int) {
	t.Helper()
	if _, _, err := db.Settings().PutIfAbsent(t.Context(), "approvals.rules", `[{"id":"rule","given":"1970-01-01T00:00:00.000000007Z"}]`); err != nil {
		t.Fatal(err)
	}
	for run := 0; run < upTo; {
		n, settle, err := db.Settings().(approvals.RunClaimer).ClaimRun(t.Context(), "rule.7", 6)
		if err != nil || n == 0 {
			t.Fatalf("ClaimRun = %d, %v", n, err)
		}
		run = n
		e := audittest.NewEvent(audit.KindIntent, "under a rule")
		e.Durable, e.Used = true, &approvals.Used{Runs: []approvals.RuleRun{{Rule: "rule.7", Run: n}, {Rule: "ended.7", Run: n}}}
		if err := errors.Join(l.Record(t.Context(), e), settle(true)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAUseOutlivesItsRow: whatever becomes of the index, and whatever is asked first.
func TestAUseOutlivesItsRow(t *testing.T) {
	t.Parallel()
	dir := restored(t)
	withState := func(t *testing.T, path string, do func(db *sqlite.DB) error) {
		t.Helper()
		db, err := sqlite.Open(t.Context(), path, sqlite.NoIndex())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(do(db), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	lose := func(t *testing.T, path string) {
		t.Helper()
		rawExec(t, path, `UPDATE record_log SET seq = 0, hash = zeroblob(32), at = 0; DELETE FROM record_blocks; DELETE FROM record_names`)
	}
	index := func(t *testing.T, path string) {
		t.Helper()
		withState(t, path, func(db *sqlite.DB) error { return db.IndexAll(t.Context()) })
	}
	for name, change := range map[string]func(t *testing.T, path string){
		"as it is":                  func(*testing.T, string) {},
		"the index is lost":         lose,
		"another has indexed it":    index,
		"the index was built again": func(t *testing.T, path string) { lose(t, path); index(t, path) },
		"the record was pruned": func(t *testing.T, path string) {
			withState(t, path, func(db *sqlite.DB) error {
				_, err := audit.Prune(t.Context(), db, audittest.NewKey(t, "key"), time.Now().Add(time.Hour))
				return err
			})
		},
	} {
		for what, ask := range firstQuestions {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				fresh := filepath.Join(t.TempDir(), "state")
				if err := os.CopyFS(fresh, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(fresh, "state.db")
				if err := os.Chmod(path, 0o600); err != nil {
					t.Fatal(err)
				}
				change(t, path)
				withState(t, path, func(db *sqlite.DB) error {
					if got, err := ask(t.Context(), db); !got || err != nil {
						t.Errorf("%v, %v: the approval that was used is open", got, err)
					}
					if ok, err := db.Approvals().Use(t.Context(), "unused"); !ok || err != nil {
						t.Errorf("Use of the other approval = %v, %v", ok, err)
					}
					if runs, _, err := db.Settings().Get(t.Context(), "approvals.rule_runs.rule.7"); runs < "5" || err != nil {
						t.Errorf("%s runs of the rule count, %v, want 5", runs, err)
					}
					return nil
				})
			})
		}
	}
}

// TestNothingIsPrunedBeforeItsUseIsKept: the rows have to be on the disk before the record
// is gone from it.
func TestNothingIsPrunedBeforeItsUseIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(restored(t), "state.db")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.NoIndex())
	broken := errors.New("broken")
	for _, want := range []error{broken, nil} {
		db.LoseWriteAheadLog(want)
		n, err := audit.Prune(t.Context(), db, audittest.NewKey(t, "key"), time.Now().Add(time.Hour))
		if !errors.Is(err, want) || (n > 0) != (want == nil) {
			t.Errorf("Prune = %d, %v, want %v", n, err, want)
		}
	}
}

// firstQuestions report whether an approval, or the runs of a rule, count as used.
var firstQuestions = map[string]func(ctx context.Context, db *sqlite.DB) (bool, error){
	"Use": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		ok, err := db.Approvals().Use(ctx, "used")
		return !ok, err
	},
	"ClaimRun": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		run, _, err := db.Settings().(approvals.RunClaimer).ClaimRun(ctx, "rule.7", 6)
		return run == 6, err
	},
	"ClaimRun of what has ended": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		run, _, err := db.Settings().(approvals.RunClaimer).ClaimRun(ctx, "ended.7", 6)
		return run == 1, err
	},
	"Claim": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		_, ok, err := db.Approvals().(approvals.Claimer).Claim(ctx, "used")
		return !ok, err
	},
	"Get": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		a, err := db.Approvals().Get(ctx, "used")
		return a.State == sallyport.ApprovalUsed, err
	},
	"Wait": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		a, err := db.Approvals().Wait(ctx, "used")
		return a.State == sallyport.ApprovalUsed, err
	},
	"List": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		list, err := db.Approvals().List(ctx, false)
		return len(list) == 1 && list[0].ID == "unused", err
	},
	"LatestDecided": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		a, ok, err := db.Approvals().LatestDecided(ctx, "d-used")
		return ok && a.State == sallyport.ApprovalUsed, err
	},
	"Decide": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		return errors.Is(db.Approvals().Decide(ctx, "used", "boss", false, ""), sallyport.ErrApprovalClosed), nil
	},
	"YieldToRule": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		return errors.Is(db.Approvals().YieldToRule(ctx, "used", "boss", "rule", ""), sallyport.ErrApprovalClosed), nil
	},
	"Ask": func(ctx context.Context, db *sqlite.DB) (bool, error) {
		again := heldBy("again")
		again.Digest = "d-used"
		a, err := db.Approvals().Ask(ctx, again)
		return a.ID == "again", err
	},
}
