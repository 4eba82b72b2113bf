package sqlite_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/sqlite"
)

// TestABackupIsWholeWhileOthersWrite copies a state again and again while records and
// settings are written to it. Each copy opens, verifies, and has a chain that the
// original still has.
func TestABackupIsWholeWhileOthersWrite(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	key, err := audit.LoadKey(filepath.Join(dir, "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.New(db, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	writing, stop := context.WithCancel(ctx)
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for writing.Err() == nil {
				e := audit.Event{Kind: audit.KindOutcome, CallID: "c", Tool: output.Plain().Text("t"), Principal: "p", OK: true, Args: output.Plain().Text(`"` + string(make([]byte, 900)) + `"`)}
				if err := log.Record(writing, &e); err != nil && writing.Err() == nil {
					t.Errorf("a record beside a backup: %v", err)
					return
				}
				if err := db.Settings().Put(writing, "k", "v"); err != nil && writing.Err() == nil {
					t.Errorf("a setting beside a backup: %v", err)
					return
				}
			}
		})
	}
	var heads []audit.Head
	for i := range 5 {
		path := filepath.Join(dir, string(rune('a'+i))+".db")
		if err := db.Backup(ctx, path); err != nil {
			t.Fatal(err)
		}
		copied, err := sqlite.Open(ctx, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, err := audit.Verify(ctx, copied, key, nil)
		if err != nil || !found.OK() {
			t.Fatalf("the copy %d does not verify: %v %+v", i, err, found)
		}
		if err := copied.Check(ctx); err != nil {
			t.Fatalf("the copy %d: %v", i, err)
		}
		head, err := audit.Newest(ctx, copied)
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, head)
		if err := copied.Close(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, path + "-log"} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("others may read %s: %v %v", name, info.Mode(), err)
			}
		}
	}
	stop()
	writers.Wait()
	for _, head := range heads {
		if found, err := audit.Verify(ctx, db, key, &audit.VerifyOptions{Head: &head}); err != nil || !found.OK() {
			t.Errorf("the original does not have the chain of a copy: %v %+v", err, found)
		}
	}
	if heads[4].Seq <= heads[0].Seq {
		t.Error("nothing was written between the copies")
	}
	if err := db.Backup(ctx, filepath.Join(dir, "a.db")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a backup over another one = %v, want fs.ErrExist", err)
	}
}
