package sqlite

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

// TestALogThatCannotBeEmptied grows, and the store goes on.
func TestALogThatCannotBeEmptied(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := Open(t.Context(), path, &Options{logPages: 8, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	// The connection that empties the log is not open yet, and fails to.
	db.path = filepath.Join(filepath.Dir(path), "gone")
	settings := db.Settings()
	for i := range 50 {
		if err := settings.Put(t.Context(), "name", strings.Repeat(string(rune('a'+i%26)), 10<<10)); err != nil {
			t.Fatalf("Put = %v", err)
		}
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if n := strings.Count(logged.String(), "cannot be emptied"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, logged.String())
	}
}

// TestAFailedSyncEndsCheckpoints: the next one would find nothing to bring to
// the disk, and throw the log away.
func TestAFailedSyncEndsCheckpoints(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	k := checkpointer{db: db}
	if err := k.emptyLog(); err != nil {
		t.Fatalf("empty = %v", err)
	}
	lost := errors.New("a failed sync")
	k.lost = lost
	if err := k.emptyLog(); !errors.Is(err, lost) {
		t.Errorf("empty after a failed sync = %v, want its error", err)
	}
	if err := k.conn.close(); err != nil {
		t.Error(err)
	}
}
