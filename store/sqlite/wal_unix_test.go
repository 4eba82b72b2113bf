//go:build unix

package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/store"
)

// TestAFailedSyncOfTheWriteAheadLogStaysFailed: the system forgets what it could not write, so
// that a later sync proves nothing.
func TestAFailedSyncOfTheWriteAheadLogStaysFailed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := Open(t.Context(), filepath.Join(dir, "state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.log.sync(); err != nil {
		t.Fatalf("Sync = %v", err)
	}
	// A pipe takes what is written and can be brought to no disk.
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	good := db.log.path
	for _, path := range []string{pipe, good} {
		db.log.path = path
		if err := db.log.closeFile(); err != nil {
			t.Fatal(err)
		}
		if err := wrapError(db.log.sync()); !errors.Is(err, store.ErrFailed) {
			t.Errorf("Sync of %s = %v, want ErrFailed", path, err)
		}
	}
	if _, err := os.Stat(good); err != nil {
		t.Error(err)
	}
}
