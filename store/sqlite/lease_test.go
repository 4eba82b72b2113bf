package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/store/sqlite"
)

// TestAChangeCountsEverywhere: what one program changed, another one that has
// just asked sees as soon as the change is made.
func TestAChangeCountsEverywhere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	a, b := open(t, path, nil), open(t, path, nil)
	hash := func(i int) string { return auth.HashToken(fmt.Sprint(i)) }
	if err := a.Principals().Add(t.Context(), &auth.Record{Name: "p", TokenSHA256: hash(0), Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		changeAll(t, a, fmt.Sprint(i), hash(i+1))
		wantAll(t, b, fmt.Sprint(i), hash(i+1), true)
		if _, ok, err := b.Principals().ByToken(t.Context(), hash(i)); ok || err != nil {
			t.Errorf("ByToken of a token that was rotated = %v, %v", ok, err)
		}
		releaseAll(t, a)
		wantAll(t, b, "", hash(i+1), false)
	}
}

func changeAll(t *testing.T, db *sqlite.DB, value, hash string) {
	t.Helper()
	if err := db.Settings().Put(t.Context(), "name", value); err != nil {
		t.Error(err)
	}
	err := db.Principals().Update(t.Context(), "p", func(r *auth.Record) error { r.TokenSHA256 = hash; return nil })
	if err != nil {
		t.Error(err)
	}
	if err := db.Switches().Stop(t.Context(), &auth.Switch{Kind: auth.SwitchTool, Name: "t", Since: time.Now()}); err != nil {
		t.Error(err)
	}
}

func releaseAll(t *testing.T, db *sqlite.DB) {
	t.Helper()
	if err := db.Settings().Delete(t.Context(), "name"); err != nil {
		t.Error(err)
	}
	if was, err := db.Switches().Start(t.Context(), auth.SwitchTool, "t"); !was || err != nil {
		t.Errorf("Start = %v, %v", was, err)
	}
}

// wantAll looks at what changeAll changed.
func wantAll(t *testing.T, db *sqlite.DB, value, hash string, changed bool) {
	t.Helper()
	if got, ok, err := db.Settings().Get(t.Context(), "name"); got != value || ok != changed || err != nil {
		t.Errorf("Get = %q, %v, %v, want %q, %v", got, ok, err, value, changed)
	}
	if _, ok, err := db.Principals().ByToken(t.Context(), hash); !ok || err != nil {
		t.Errorf("ByToken of the newest token = %v, %v", ok, err)
	}
	if _, ok, err := db.Switches().Stopped(t.Context(), "p", "p/s", "t"); ok != changed || err != nil {
		t.Errorf("Stopped = %v, %v, want %v", ok, err, changed)
	}
}

// TestManySwitches: with more than are leased, the last one counts like the
// first.
func TestManySwitches(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "state.db"), nil)
	const many = 70
	for i := range many {
		sw := auth.Switch{Kind: auth.SwitchTool, Name: fmt.Sprintf("t%03d", i), Since: time.Now()}
		if err := db.Switches().Stop(t.Context(), &sw); err != nil {
			t.Fatal(err)
		}
	}
	for i := range many + 1 {
		name := fmt.Sprintf("t%03d", i)
		if sw, ok, err := db.Switches().Stopped(t.Context(), "p", "p/s", name); ok != (i < many) || ok && sw.Name != name || err != nil {
			t.Errorf("Stopped(%s) = %+v, %v, %v", name, sw, ok, err)
		}
	}
}

// TestReadersBesideAWriter: more readers than there are connections, while
// another holds the one that writes.
func TestReadersBesideAWriter(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "state.db"), nil)
	audittest.RecordCalls(t, audittest.NewLog(t, db), db, "c", 2)
	err := db.Append(t.Context(), func(audit.Head) ([]audit.Record, error) {
		var readers sync.WaitGroup
		for range 50 {
			readers.Go(func() {
				for range 20 {
					if _, err := audit.Newest(t.Context(), db); err != nil {
						t.Error(err)
					}
				}
			})
		}
		readers.Wait()
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}
