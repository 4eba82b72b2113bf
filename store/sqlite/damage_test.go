package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/sqlite"
)

func TestVerifyNamesTheFirstBadRecord(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		sql  string
		want int64
		why  string
	}{
		{"one byte of a body", `UPDATE audit SET body = replace(body, '"local"', '"locak"') WHERE seq = 7`, 7, "altered"},
		{"one byte of a hash", `UPDATE audit SET hash = CAST(CASE substr(hash, 1, 1) WHEN x'00' THEN x'01' ELSE x'00' END || substr(hash, 2) AS BLOB) WHERE seq = 7`, 7, "altered"},
		{"a short hash", `UPDATE audit SET hash = x'00' WHERE seq = 7`, 7, "altered"},
		{"the searchable tool", `UPDATE audit SET tool = 'other' WHERE seq = 7`, 7, "altered"},
		{"the searchable call", `UPDATE audit SET call = 'other' WHERE seq = 7`, 7, "altered"},
		{"the searchable principal", `UPDATE audit SET principal = '' WHERE seq = 7`, 7, "altered"},
		{"the searchable denial", `UPDATE audit SET denied = 1 WHERE seq = 7`, 7, "altered"},
		{"the time", `UPDATE audit SET time = time + 1 WHERE seq = 7`, 7, "altered"},
		{"the kind", `UPDATE audit SET kind = 'outcome' WHERE seq = 7`, 7, "altered"},
		{"a made-up checkpoint", `UPDATE audit SET kind = 'checkpoint' WHERE seq = 7`, 7, "checkpoint"},
		{"the first record", `UPDATE audit SET body = body || ' ' WHERE seq = 1`, 1, "altered"},
		{"the last record", `UPDATE audit SET body = body || ' ' WHERE seq = 20`, 20, "altered"},
		{"two records swapped", `UPDATE audit SET seq = -1 WHERE seq = 7; UPDATE audit SET seq = 7 WHERE seq = 12; UPDATE audit SET seq = 12 WHERE seq = -1`, 7, "altered"},
		{"a gap", `DELETE FROM audit WHERE seq = 7`, 7, "missing"},
		{"a longer gap", `DELETE FROM audit WHERE seq BETWEEN 7 AND 11`, 7, "missing"},
		{"a gap closed by renumbering", `DELETE FROM audit WHERE seq = 7; UPDATE audit SET seq = seq - 1 WHERE seq > 7`, 7, "altered"},
		{"the beginning cut off", `DELETE FROM audit WHERE seq < 7`, 1, "missing"},
		{"a duplicate at the end", `INSERT INTO audit SELECT 21, time, kind, call, tool, principal, denied, hash, body FROM audit WHERE seq = 20`, 21, "altered"},
		{"a duplicate before the first", `INSERT INTO audit SELECT 0, time, kind, call, tool, principal, denied, hash, body FROM audit WHERE seq = 1`, 0, "order"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			db := open(t, path, nil)
			head := audittest.RecordCalls(t, audittest.NewLog(t, db), db, "c", 10)
			rawExec(t, path, tt.sql)
			for _, o := range []*audit.VerifyOptions{nil, {Head: &head}} {
				r := audittest.VerifyRecords(t, db, o)
				if r.OK() || r.Bad.Seq != tt.want || !strings.Contains(r.Bad.Why, tt.why) || r.TailProven {
					t.Errorf("Verify: %s, want record %d bad: …%s…", r.String(), tt.want, tt.why)
				}
			}
		})
	}
}

func TestTailNeedsARememberedHead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, nil)
	l := audittest.NewLog(t, db)
	head := audittest.RecordCalls(t, l, db, "c", 10)
	rawExec(t, path, `DELETE FROM audit WHERE seq > 17`)

	if r := audittest.VerifyRecords(t, db, nil); !r.OK() || r.TailProven || !strings.Contains(r.String(), "tail not proven") {
		t.Errorf("Verify without a head: %s, want good and the tail not proven", r.String())
	}
	if r := audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head}); r.OK() || r.Bad.Seq != 18 {
		t.Errorf("Verify with the head: %s, want record 18 missing", r.String())
	}
	// The one who cut the tail goes on with the real key.
	audittest.RecordCalls(t, l, db, "d", 10)
	if r := audittest.VerifyRecords(t, db, nil); !r.OK() {
		t.Errorf("Verify without a head: %s, want good: nothing in the file shows the cut", r.String())
	}
	if r := audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head}); r.OK() || r.Bad.Seq != head.Seq {
		t.Errorf("Verify with the head: %s, want record %d bad: the chain forked", r.String(), head.Seq)
	}
}

func TestCheckpointTampering(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		sql  string
		want int64
	}{
		{"removed", `DELETE FROM audit WHERE kind = 'checkpoint'`, 1},
		{"count", `UPDATE audit SET body = replace(body, '"count":20', '"count":10') WHERE kind = 'checkpoint'`, 20},
		{"white space", `UPDATE audit SET body = body || ' ' WHERE kind = 'checkpoint'`, 20},
		{"hash column", `UPDATE audit SET hash = CAST(CASE substr(hash, 1, 1) WHEN x'00' THEN x'01' ELSE x'00' END || substr(hash, 2) AS BLOB) WHERE kind = 'checkpoint'`, 20},
		{"time column", `UPDATE audit SET time = 1 WHERE kind = 'checkpoint'`, 20},
		{"kind", `UPDATE audit SET kind = 'intent' WHERE kind = 'checkpoint'`, 1},
		{"moved", `UPDATE audit SET seq = 19 WHERE kind = 'checkpoint'`, 19},
		{"moved over a record", `DELETE FROM audit WHERE seq = 21; UPDATE audit SET seq = 21 WHERE kind = 'checkpoint'`, 21},
		{"record after it removed", `DELETE FROM audit WHERE seq = 21`, 21},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			db := open(t, path, nil)
			l := audittest.NewLog(t, db)
			audittest.RecordCalls(t, l, db, "old", 10)
			if n, err := audit.Prune(t.Context(), db, audittest.NewKey(t, "key"), farFuture()); n != 20 || err != nil {
				t.Fatalf("Prune = %d, %v", n, err)
			}
			head := audittest.RecordCalls(t, l, db, "new", 5)
			if r := audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head}); !r.OK() || !r.TailProven {
				t.Fatalf("Verify before: %s", r.String())
			}
			rawExec(t, path, tt.sql)
			if r := audittest.VerifyRecords(t, db, nil); r.OK() || r.Bad.Seq != tt.want {
				t.Errorf("Verify: %s, want record %d bad", r.String(), tt.want)
			}
		})
	}
}

func TestPruneGivesSpaceBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, nil)
	l := audittest.NewLog(t, db)
	for i := range 300 {
		e := audit.Event{Kind: audit.KindOutcome, CallID: fmt.Sprint(i), Args: output.Clean(strings.Repeat("x", 8<<10))}
		if err := l.Record(t.Context(), &e); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := audit.Prune(t.Context(), db, audittest.NewKey(t, "key"), farFuture()); n != 300 || err != nil {
		t.Fatalf("Prune = %d, %v, want 300", n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 256<<10 {
		t.Errorf("the file has %d bytes after pruning, want what 300 records of 8 KiB took to be gone", info.Size())
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	good := func(t *testing.T, path string) {
		db, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		audittest.RecordCalls(t, audittest.NewLog(t, db), db, "c", 50)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want error
		text string
	}{
		{"text", func(t *testing.T, path string) { write(t, path, []byte("{\"version\": 1}\n")) }, store.ErrDamaged, "state file is damaged"},
		{"zeros", func(t *testing.T, path string) { write(t, path, make([]byte, 8192)) }, store.ErrDamaged, "state file is damaged"},
		{"a cut file", func(t *testing.T, path string) { good(t, path); cut(t, path, 5000) }, store.ErrDamaged, "state file is damaged"},
		{"a bad first page", func(t *testing.T, path string) { good(t, path); scribble(t, path, 100, 3000) }, store.ErrDamaged, "state file is damaged"},
		{"another program's", func(t *testing.T, path string) { rawCreate(t, path) }, store.ErrForeign, "file is not a Sallyport state file"},
		{"newer", func(t *testing.T, path string) {
			good(t, path)
			rawExec(t, path, "INSERT INTO migrations VALUES(99, 0)")
		}, store.ErrNewer, "state file was written by a newer version of Sallyport"},
		{"a directory", func(t *testing.T, path string) { mkdir(t, path) }, store.ErrForeign, "file is not a Sallyport state file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			tt.make(t, path)
			before, _ := os.ReadFile(path)
			_, err := sqlite.Open(t.Context(), path, nil)
			if !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), tt.text+": "+path) {
				t.Errorf("Open = %v, want %q and the path", err, tt.text)
			}
			if err != nil && strings.Contains(err.Error(), "sqlite") {
				t.Errorf("Open = %v, want no word of the driver's", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("Open changed the file that it refused")
			}
		})
	}
}

func TestDamageFoundLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := db.KV(t.Context(), "tool:a")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := kv.Set(t.Context(), fmt.Sprint(i), strings.Repeat("v", 1000), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// Everything behind the schema's pages.
	scribble(t, path, 16*4096, 1<<20)
	db = open(t, path, nil)
	if kv, err = db.KV(t.Context(), "tool:a"); err != nil {
		t.Fatal(err)
	}
	_, err = kv.List(t.Context(), "")
	if !errors.Is(err, store.ErrDamaged) || err.Error() != "state file is damaged" {
		t.Errorf("List = %v, want ErrDamaged and no more words", err)
	}
}

func TestOneByteOfTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	audittest.RecordCalls(t, audittest.NewLog(t, db), db, "call", 10)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A page may also hold what is left of an earlier place of the record.
	good, bad := []byte(`"call_id":"call4"`), []byte(`"call_id":"call5"`)
	if !bytes.Contains(data, good) {
		t.Fatal("the record is not in the file after Close")
	}
	write(t, path, bytes.ReplaceAll(data, good, bad))
	r := audittest.VerifyRecords(t, open(t, path, nil), nil)
	if r.OK() || r.Bad.Seq != 9 {
		t.Errorf("Verify: %s, want record 9 bad", r.String())
	}
}
