package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/store/internal/recordlog"
	"github.com/sallyport/sallyport/store/sqlite"
)

// recordAndClose records calls without indexing them, and returns the head.
func recordAndClose(t testing.TB, path, prefix string, calls int) audit.Head {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.NoIndex())
	if err != nil {
		t.Fatal(err)
	}
	l := audittest.NewLog(t, db)
	head := audittest.RecordCalls(t, l, db, prefix, calls)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return head
}

// readFolder returns the records of a closed state file.
func readFolder(t testing.TB, path string) (list []audit.Record) {
	t.Helper()
	id, err := recordlog.ReadID(path + "-log")
	if err != nil {
		t.Fatal(err)
	}
	l, err := recordlog.Open(path+"-log", id, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	v, err := l.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v.Checkpoint.Seq > 0 {
		list = append(list, v.Checkpoint)
	}
	for e, err := range l.Scan(t.Context(), &v, v.First, v.Checkpoint.Seq+1) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.Record)
	}
	return list
}

// tamper replaces the records of a closed state file, as one does who has the
// files and not the key. A checkpoint that comes first stays what stands for what
// was pruned.
func tamper(t testing.TB, path string, edit func(list []audit.Record) []audit.Record) {
	t.Helper()
	list, folder := readFolder(t, path), path+"-log"
	pruned := len(list) > 0 && list[0].Kind == audit.KindCheckpoint
	id, err := recordlog.ReadID(folder)
	if err != nil {
		t.Fatal(err)
	}
	if list = edit(list); len(list) > 0 && list[0].Kind != audit.KindCheckpoint {
		pruned = pruned && list[0].Seq == 20
	}
	checkpoint := audit.Record{}
	if pruned {
		checkpoint, list = list[0], list[1:]
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := recordlog.Create(folder, id, &checkpoint, nil); err != nil {
		t.Fatal(err)
	}
	l, err := recordlog.Open(folder, id, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Import(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// oldFile writes a state file as the version before the log did, with records.
func oldFile(t testing.TB, path string, calls int, pruned bool) audit.Head {
	t.Helper()
	source := filepath.Join(t.TempDir(), "source.db")
	db := open(t, source, sqlite.NoIndex())
	l := audittest.NewLog(t, db)
	if pruned {
		audittest.RecordCalls(t, l, db, "pruned", 3)
		if _, err := audit.Prune(t.Context(), db, audittest.NewKey(t, "key"), farFuture()); err != nil {
			t.Fatal(err)
		}
	}
	head := audittest.RecordCalls(t, l, db, "old", calls)
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Exec("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; " + sqlite.OldSchema()); err != nil {
		t.Fatal(err)
	}
	s, _, err := c.Prepare(`INSERT INTO audit(seq, time, kind, call, tool, principal, denied, hash, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for r, err := range db.Read(t.Context(), audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		for i, arg := range []any{r.Seq, r.Time, string(r.Kind), r.Call, r.Tool, r.Principal, r.Denied} {
			switch v := arg.(type) {
			case int64:
				err = s.BindInt64(i+1, v)
			case string:
				err = s.BindText(i+1, v)
			case bool:
				err = s.BindBool(i+1, v)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if s.BindBlob(8, r.Hash[:]) != nil || s.BindText(9, string(r.Body)) != nil || s.Exec() != nil {
			t.Fatal("a row was not inserted")
		}
	}
	return head
}

// TestAnOlderFileIsTakenOver: its chain goes on in the log, of which a process that
// was killed in the middle may have left a part.
func TestAnOlderFileIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, pruned := range map[string]bool{"whole": false, "pruned": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			head := oldFile(t, path, 600, pruned)
			if err := recordlog.Create(path+"-log.new", recordlog.NewID(), new(audit.Record), nil); err != nil {
				t.Fatal(err)
			}
			db := open(t, path, nil)
			r := audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head})
			if !r.OK() || r.Records != 1200 || !r.TailProven || pruned != (r.Pruned == 6) {
				t.Errorf("Verify: %s, want 1200 good records", r.String())
			}
			if n := count(t, db, audit.Query{Call: "old599"}); n != 2 {
				t.Errorf("%d records of the last call, want 2", n)
			}
			audittest.RecordCalls(t, audittest.NewLog(t, db), db, "new", 1)
			if r := audittest.VerifyRecords(t, open(t, path, nil), nil); !r.OK() || r.Records != 1202 {
				t.Errorf("Verify: %s, want 1202 good records", r.String())
			}
			if _, err := os.Stat(path + "-log.new"); err == nil {
				t.Error("the folder of the takeover is left")
			}
		})
	}
}

// TestATakeoverThatWasCutOff: the file knows the log, which has not got its name.
func TestATakeoverThatWasCutOff(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	head := recordAndClose(t, path, "c", 5)
	if err := os.Rename(path+"-log", path+"-log.new"); err != nil {
		t.Fatal(err)
	}
	r := audittest.VerifyRecords(t, open(t, path, nil), &audit.VerifyOptions{Head: &head})
	if !r.OK() || !r.TailProven {
		t.Errorf("Verify: %s, want the whole chain", r.String())
	}
}
