package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	edit := func(i int, do func(r *audit.Record)) func([]audit.Record) []audit.Record {
		return func(list []audit.Record) []audit.Record {
			do(&list[i])
			return list
		}
	}
	tests := []struct {
		name string
		edit func(list []audit.Record) []audit.Record
		want int64
		why  string
	}{
		{"one byte of a body", edit(6, func(r *audit.Record) { r.Body = bytes.Replace(r.Body, []byte(`"local"`), []byte(`"locak"`), 1) }), 7, "altered"},
		{"one byte of a hash", edit(6, func(r *audit.Record) { r.Hash[0] ^= 1 }), 7, "altered"},
		{"no hash", edit(6, func(r *audit.Record) { r.Hash = audit.Hash{} }), 7, "altered"},
		{"the searchable tool", edit(6, func(r *audit.Record) { r.Tool = "other" }), 7, "altered"},
		{"the searchable call", edit(6, func(r *audit.Record) { r.Call = "other" }), 7, "altered"},
		{"the searchable principal", edit(6, func(r *audit.Record) { r.Principal = "" }), 7, "altered"},
		{"the searchable denial", edit(6, func(r *audit.Record) { r.Denied = true }), 7, "altered"},
		{"the time", edit(6, func(r *audit.Record) { r.Time++ }), 7, "altered"},
		{"the kind", edit(6, func(r *audit.Record) { r.Kind = audit.KindOutcome }), 7, "altered"},
		{"a made-up checkpoint", edit(6, func(r *audit.Record) { r.Kind = audit.KindCheckpoint }), 7, "checkpoint"},
		{"the first record", edit(0, func(r *audit.Record) { r.Body = append(r.Body, ' ') }), 1, "altered"},
		{"the last record", edit(19, func(r *audit.Record) { r.Body = append(r.Body, ' ') }), 20, "altered"},
		{"two records swapped", func(list []audit.Record) []audit.Record {
			list[6], list[11] = list[11], list[6]
			list[6].Seq, list[11].Seq = 7, 12
			return list
		}, 7, "altered"},
		{"a gap", func(list []audit.Record) []audit.Record { return slices.Delete(list, 6, 7) }, 7, "missing"},
		{"a longer gap", func(list []audit.Record) []audit.Record { return slices.Delete(list, 6, 11) }, 7, "missing"},
		{"a gap closed by renumbering", func(list []audit.Record) []audit.Record {
			list = slices.Delete(list, 6, 7)
			for i := 6; i < len(list); i++ {
				list[i].Seq--
			}
			return list
		}, 7, "altered"},
		{"the beginning cut off", func(list []audit.Record) []audit.Record { return list[6:] }, 1, "missing"},
		{"a duplicate at the end", func(list []audit.Record) []audit.Record {
			again := list[19]
			again.Seq = 21
			return append(list, again)
		}, 21, "altered"},
		{"a duplicate before the first", func(list []audit.Record) []audit.Record {
			again := list[0]
			again.Seq = 0
			return append([]audit.Record{again}, list...)
		}, 0, "order"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			head := recordAndClose(t, path, "c", 10)
			tamper(t, path, tt.edit)
			db := open(t, path, nil)
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
	head := recordAndClose(t, path, "c", 10)
	tamper(t, path, func(list []audit.Record) []audit.Record { return list[:17] })
	db := open(t, path, sqlite.NoIndex())

	if r := audittest.VerifyRecords(t, db, nil); !r.OK() || r.TailProven || !strings.Contains(r.String(), "tail not proven") {
		t.Errorf("Verify without a head: %s, want good and the tail not proven", r.String())
	}
	if r := audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head}); r.OK() || r.Bad.Seq != 18 {
		t.Errorf("Verify with the head: %s, want record 18 missing", r.String())
	}
	// The one who cut the tail goes on with the real key.
	audittest.RecordCalls(t, audittest.NewLog(t, db), db, "d", 10)
	if r := audittest.VerifyRecords(t, db, nil); !r.OK() {
		t.Errorf("Verify without a head: %s, want good: nothing in the file shows the cut", r.String())
	}
	if r := audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head}); r.OK() || r.Bad.Seq != head.Seq {
		t.Errorf("Verify with the head: %s, want record %d bad: the chain forked", r.String(), head.Seq)
	}
}

// TestTheIndexKnowsHowFarTheRecordWent: a record that ends before what the file
// has indexed, or went on differently, is named, and nothing is added to it.
func TestTheIndexKnowsHowFarTheRecordWent(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]bool{"cut": false, "cut and continued": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			recordAndClose(t, path, "c", 10)
			tamper(t, path, func(list []audit.Record) []audit.Record { return list[:17] })
			if forge {
				recordAndClose(t, path, "forged", 10)
			}
			cut := readFolder(t, path)
			tamper(t, path, func([]audit.Record) []audit.Record { return nil })
			head := recordAndClose(t, path, "c", 10)
			db := open(t, path, nil)
			if err := db.IndexAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, path, func([]audit.Record) []audit.Record { return cut })
			db = open(t, path, nil)
			if r := audittest.VerifyRecords(t, db, nil); r.OK() || r.Bad.Seq > head.Seq+1 {
				t.Errorf("Verify: %s, want a bad record", r.String())
			}
			err := db.Append(t.Context(), func(audit.Head) ([]audit.Record, error) { return nil, nil })
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("Append = %v, want ErrDamaged", err)
			}
		})
	}
}

// TestTheEndOfAProcessIsKnown: what a process recorded that ended at once cannot be
// cut off unseen.
func TestTheEndOfAProcessIsKnown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := audittest.NewLog(t, db)
	audittest.RecordCalls(t, l, db, "c", 2)
	if err := errors.Join(l.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	tamper(t, path, func(list []audit.Record) []audit.Record { return list[:3] })
	db = open(t, path, nil)
	if r := audittest.VerifyRecords(t, db, nil); r.OK() || r.Bad.Seq != 4 {
		t.Errorf("Verify: %s, want record 4 missing", r.String())
	}
}

// TestARemovedRecordIsNoNewOne: no chain begins at 1 where another one was.
func TestARemovedRecordIsNoNewOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	recordAndClose(t, path, "c", 2)
	if err := os.Rename(path+"-log", path+"-gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, nil); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "state.db-log") {
		t.Errorf("Open without the record = %v, want ErrDamaged and its name", err)
	}
	if err := os.Rename(path+"-gone", path+"-log"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, nil); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "another state file") {
		t.Errorf("Open of a new file beside a record = %v, want ErrDamaged", err)
	}
	if err := os.Rename(path+".gone", path); err != nil {
		t.Fatal(err)
	}
	if r := audittest.VerifyRecords(t, open(t, path, nil), nil); !r.OK() || r.Records != 4 {
		t.Errorf("Verify: %s, want 4 good records", r.String())
	}
}

func TestCheckpointTampering(t *testing.T) {
	t.Parallel()
	edit := func(do func(r *audit.Record)) func([]audit.Record) []audit.Record {
		return func(list []audit.Record) []audit.Record {
			do(&list[0])
			return list
		}
	}
	tests := []struct {
		name string
		edit func(list []audit.Record) []audit.Record
		want int64
	}{
		{"removed", func(list []audit.Record) []audit.Record { return list[1:] }, 1},
		{"count", edit(func(r *audit.Record) { r.Body = bytes.Replace(r.Body, []byte(`"count":20`), []byte(`"count":10`), 1) }), 20},
		{"white space", edit(func(r *audit.Record) { r.Body = append(r.Body, ' ') }), 20},
		{"hash", edit(func(r *audit.Record) { r.Hash[0] ^= 1 }), 20},
		{"time", edit(func(r *audit.Record) { r.Time = 1 }), 20},
		{"kind", edit(func(r *audit.Record) { r.Kind = audit.KindIntent }), 1},
		{"moved", edit(func(r *audit.Record) { r.Seq = 19 }), 19},
		{"moved over a record", func(list []audit.Record) []audit.Record {
			list[0].Seq = 21
			return slices.Delete(list, 1, 2)
		}, 21},
		{"record after it removed", func(list []audit.Record) []audit.Record { return slices.Delete(list, 1, 2) }, 21},
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
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, path, tt.edit)
			if r := audittest.VerifyRecords(t, open(t, path, nil), nil); r.OK() || r.Bad.Seq != tt.want {
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
	if got := size(t, path); got > 256<<10 {
		t.Errorf("the file has %d bytes after pruning", got)
	}
	entries, err := os.ReadDir(path + "-log")
	if err != nil {
		t.Fatal(err)
	}
	segments := 0
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(path+"-log", e.Name()))
		if err != nil || bytes.Contains(text, []byte("xxxxxxxx")) {
			t.Errorf("%s still has what was pruned, %v", e.Name(), err)
		}
		if strings.HasPrefix(e.Name(), "0") {
			segments++
		}
	}
	if segments > 2 {
		t.Errorf("%d segments are left, want the one in use and at most the next", segments)
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
	scribble(t, path, 48*4096, 1<<20)
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
	recordAndClose(t, path, "call", 10)
	segment := filepath.Join(path+"-log", "00000001")
	data, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := []byte(`"call_id":"call4"`), []byte(`"call_id":"call5"`)
	if !bytes.Contains(data, good) {
		t.Fatal("the record is not in the file after Close")
	}
	write(t, segment, bytes.ReplaceAll(data, good, bad))
	r := audittest.VerifyRecords(t, open(t, path, nil), nil)
	if r.OK() || r.Bad.Seq != 9 {
		t.Errorf("Verify: %s, want record 9 bad", r.String())
	}
}
