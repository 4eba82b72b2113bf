package sqlite_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/internal/recordlog"
	"github.com/sallyport/sallyport/store/sqlite"
)

// TestNoByteOfARecordCanChangeUnseen writes records, changes one byte of every
// place in the file where one of their words stands, and asks the chain and
// the file's own check. No stale copy may be left that neither of them reads.
func TestNoByteOfARecordCanChangeUnseen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	key := audittest.NewKey(t, "check")
	record(t, path, key, 12)
	segment := filepath.Join(path+"-log", "00000001")
	whole, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, word := range []string{"call-with-a-long-name", "tool-with-a-long-name", "principal-with-a-name"} {
		for at := 0; ; {
			i := bytes.Index(whole[at:], []byte(word))
			if i < 0 {
				break
			}
			at += i + 1
			found++
			changed := bytes.Clone(whole)
			changed[at+3] ^= 1
			if unseen(t, path, segment, changed, key) {
				t.Errorf("a changed byte of %q at %d is not seen", word, at+3)
			}
		}
	}
	if found < 36 {
		t.Errorf("the words stand at %d places, want every record", found)
	}
}

// record opens the file once for each record, as single calls do.
func record(t *testing.T, path string, key audit.Key, n int) {
	t.Helper()
	for range n {
		db, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		log, err := audit.New(db, key, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = log.Record(t.Context(), &audit.Event{
			Kind: audit.KindOutcome, CallID: "call-with-a-long-name", Tool: "tool-with-a-long-name", Principal: "principal-with-a-name",
		})
		if err := errors.Join(err, log.Close(), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// unseen reports whether a state with a changed segment passes both checks.
func unseen(t *testing.T, path, segment string, content []byte, key audit.Key) bool {
	t.Helper()
	if err := os.WriteFile(segment, content, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(context.Background(), path, nil)
	if errors.Is(err, store.ErrDamaged) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Check(t.Context()); err != nil {
		return false
	}
	report, err := audit.Verify(t.Context(), db, key, nil)
	return err == nil && report.OK()
}

// TestAnIndexThatLiesIsFound: a search must not be misled by who has the file and
// not the key.
func TestAnIndexThatLiesIsFound(t *testing.T) {
	t.Parallel()
	for sql, prefix := range map[string]string{
		"UPDATE record_names SET name = name + 1 WHERE kind = 16 AND block = 0": "c",
		"DELETE FROM record_names WHERE kind = 1 AND block = 1":                 "c",
		"UPDATE record_names SET block = block + 9 WHERE kind = 2":              "c",
		"DELETE FROM record_names WHERE kind = 3":                               "c",
		"UPDATE record_blocks SET newest = 1 WHERE block = 1":                   "c",
		"UPDATE record_blocks SET newest = newest + 1 WHERE block = 0":          "c",
		"UPDATE record_blocks SET at = at + 8 WHERE block = 0":                  "c",
		"UPDATE record_blocks SET first = first + 1 WHERE block = 1":            "c",
		"UPDATE record_log SET at = at + 8":                                     "c", "UPDATE record_log SET at = (SELECT at FROM record_blocks WHERE block = 1)": "c",
		"UPDATE record_blocks SET latest = 9223372036854775807 WHERE block = 1": "c",
		"UPDATE record_blocks SET latest = 1":                                   "c",
		"UPDATE record_blocks SET latest = latest - 1 WHERE block = 1":          timedPrefix,
		"UPDATE record_blocks SET latest = 0":                                   timedPrefix,
		"UPDATE record_blocks SET latest = latest + 1":                          timedPrefix,
		"DELETE FROM record_blocks WHERE block = 0":                             "c",
		"DELETE FROM record_blocks WHERE block = 1":                             "c",
	} {
		path := filepath.Join(t.TempDir(), "state.db")
		recordAndClose(t, path, prefix, 10)
		db := open(t, path, nil)
		if err := errors.Join(db.IndexAll(t.Context()), db.Check(t.Context()), db.Close()); err != nil {
			t.Fatal(err)
		}
		rawExec(t, path, sql)
		err := open(t, path, nil).Check(t.Context())
		if d, ok := errors.AsType[*recordlog.Damage](err); !errors.Is(err, store.ErrDamaged) || !ok || !strings.Contains(d.Why, "put a copy of the file back") {
			t.Errorf("Check after %s = %v (%v), want ErrDamaged and what to do", sql, err, d)
		}
	}
}

// TestIDsThatBeginAlike: the name of one call, in the form of an older version, is not
// taken for that of another whose id begins like it.
func TestIDsThatBeginAlike(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, sqlite.NoIndex())
	l := audittest.NewLog(t, db)
	recordTimed(t, l, append(upTo(400), 5)...) // the last one late
	other := timedID(5)[:23] + "z"
	if err := l.Record(t.Context(), audittest.NewEvent(audit.KindOutcome, other)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.IndexAll(t.Context()), db.Check(t.Context())); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(other))
	rawExec(t, path, fmt.Sprintf("UPDATE record_names SET kind = 16, name = %d WHERE kind = 8 AND block = 25", int64(binary.BigEndian.Uint64(digest[:]))))
	if err := open(t, path, sqlite.NoIndex()).Check(t.Context()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Check = %v, want ErrDamaged", err)
	}
}
