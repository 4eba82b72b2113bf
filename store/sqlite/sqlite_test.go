package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/sqlite"
	"github.com/sallyport/sallyport/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB, o storetest.Options) store.State {
		return open(t, filepath.Join(t.TempDir(), "state.db"), &sqlite.Options{Limits: o.Limits, Now: o.Now})
	})
}

func TestDurableStore(t *testing.T) {
	t.Parallel()
	storetest.RunDurable(t, func(t testing.TB, dir string) store.State { return open(t, filepath.Join(dir, "state.db"), nil) })
}

// open opens a state file and closes it with t.
func open(t testing.TB, path string, o *sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return db
}
