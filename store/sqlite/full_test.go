package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/sqlite"
)

// filled is a store without room for another write.
type filled struct {
	db   *sqlite.DB
	log  *audit.Log
	kv   sallyport.KV
	keys int
	// records is how many were kept.
	records int64
}

const fillBytes = 32 << 10

// fill writes until the store refuses.
func fill(t *testing.T, path string, o *sqlite.Options) *filled {
	t.Helper()
	db := open(t, path, o)
	kv, err := db.KV(t.Context(), "tool:a")
	if err != nil {
		t.Fatal(err)
	}
	f := &filled{db: db, log: audittest.NewLog(t, db), kv: kv}
	audittest.RecordCalls(t, f.log, db, "before", 2)
	f.records = 4
	for ; ; f.keys++ {
		err := f.set(t, f.keys)
		if err == nil && f.keys < 10_000 {
			continue
		}
		if !errors.Is(err, store.ErrFull) || err.Error() != "disk is full" {
			t.Fatalf("Set = %v after %d writes, want ErrFull and no more words", err, f.keys)
		}
		return f
	}
}

func (f *filled) set(t *testing.T, i int) error {
	return f.kv.Set(t.Context(), fmt.Sprint(i), strings.Repeat(string(rune('a'+i%26)), fillBytes), 0)
}

// record tries to add a record that needs room and reports whether it was
// kept.
func (f *filled) record(t *testing.T) bool {
	t.Helper()
	e := audit.Event{Kind: audit.KindOutcome, CallID: "full", Full: output.Clean(strings.Repeat("x", 200<<10))}
	err := f.log.Record(t.Context(), &e)
	if err != nil && (!errors.Is(err, audit.ErrNotKept) || !errors.Is(err, store.ErrFull)) {
		t.Errorf("Record = %v, want ErrNotKept and ErrFull", err)
	}
	if err == nil {
		f.records++
	}
	return err == nil
}

// fillRecord records until there is no room in what was reserved for records.
func (f *filled) fillRecord(t *testing.T) {
	t.Helper()
	for n := 0; f.record(t); n++ {
		if n == 100 {
			t.Fatal("Record on a full disk = no error")
		}
	}
}

// check reads everything that was acknowledged.
func (f *filled) check(t *testing.T) {
	t.Helper()
	if r := audittest.VerifyRecords(t, f.db, nil); !r.OK() || r.Records != f.records {
		t.Errorf("Verify: %s, want %d good records", r.String(), f.records)
	}
	for i := range f.keys {
		got, ok, err := f.kv.Get(t.Context(), fmt.Sprint(i))
		if !ok || err != nil || got != strings.Repeat(string(rune('a'+i%26)), fillBytes) {
			t.Fatalf("Get(%d) = %d bytes, %v, %v after it was acknowledged", i, len(got), ok, err)
		}
	}
	if _, ok, err := f.kv.Get(t.Context(), fmt.Sprint(f.keys)); ok || err != nil {
		t.Errorf("Get of the refused key = %v, %v, want absent", ok, err)
	}
}

func TestBoundedFile(t *testing.T) {
	t.Parallel()
	f := fill(t, filepath.Join(t.TempDir(), "state.db"), &sqlite.Options{MaxBytes: 1 << 20})
	f.fillRecord(t)
	for range 3 {
		if f.record(t) {
			t.Error("Record of a full store = no error")
		}
	}
	f.check(t)
	if n, err := audit.Prune(t.Context(), f.db, audittest.NewKey(t, "key"), farFuture()); n != f.records || err != nil {
		t.Fatalf("Prune = %d, %v, want %d", n, err, f.records)
	}
	f.records = 0
	if !f.record(t) {
		t.Error("Record after room was made = an error")
	}
	for i := f.keys - 12; i < f.keys; i++ {
		if err := f.kv.Delete(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatalf("Delete = %v, want room to be made", err)
		}
	}
	f.keys -= 12
	f.check(t)
}
