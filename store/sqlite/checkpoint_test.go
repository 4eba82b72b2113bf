package sqlite_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/sqlite"
)

// writeConcurrently records events of many writers at once and returns when all are kept.
func writeConcurrently(t testing.TB, l *audit.Log, writers, each, bytes int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				e := audit.Event{
					Kind: audit.KindOutcome, CallID: fmt.Sprintf("%d-%d", w, i), OK: true, Durable: i%2 == 0,
					Args: output.Clean(strings.Repeat("x", bytes)),
				}
				if err := l.Record(t.Context(), &e); err != nil {
					t.Errorf("Record = %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestLogStaysShort: the size of the log is the most that it ever was, as long
// as that is below its limit.
func TestLogStaysShort(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, sqlite.ShortLog())
	const writers, each, bytes = 64, 60, 8 << 10
	writeConcurrently(t, audittest.NewLog(t, db), writers, each, bytes)
	if got := size(t, path+"-wal"); got >= sqlite.LogLimit || got == 0 {
		t.Errorf("the log has %d bytes after %d records of %d, want less than %d", got, writers*each, bytes, sqlite.LogLimit)
	}
	if r := audittest.VerifyRecords(t, db, nil); !r.OK() || r.Records != writers*each {
		t.Errorf("Verify: %s, want %d good records", r.String(), writers*each)
	}
	if err := db.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := size(t, path+"-wal"); got != 0 {
		t.Errorf("the log has %d bytes after Close, want 0", got)
	}
}

// begun returns how often the log has begun anew: the number is in its head
// (https://sqlite.org/fileformat2.html, section 4.1).
func begun(t testing.TB, path string) uint32 {
	t.Helper()
	f, err := os.Open(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil {
		t.Fatal(err)
	}
	return binary.BigEndian.Uint32(head[12:])
}

// beginAnew writes until the log begins anew.
func beginAnew(t testing.TB, l *audit.Log, path string) {
	t.Helper()
	const most = 2000
	for was, n := begun(t, path), 0; begun(t, path) == was; n++ {
		if n == most {
			t.Fatalf("the log has not begun anew in %d writes", most)
		}
		writeConcurrently(t, l, 1, 1, 100)
	}
}

// TestLogWaitsForReaders: what a reader holds stays, others write on, and the
// log begins anew when the reader is gone.
func TestLogWaitsForReaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, sqlite.ShortLog())
	l := audittest.NewLog(t, db)
	writeConcurrently(t, l, 1, 1, 100)
	beginAnew(t, l, path)

	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	writeConcurrently(t, l, 1, 1, 100) // something that only the log has
	if err := c.Exec("BEGIN; SELECT count(*) FROM audit"); err != nil {
		t.Fatal(err)
	}
	writeConcurrently(t, l, 1, 1, 100)
	was := begun(t, path)
	writeConcurrently(t, l, 8, 20, 100)
	if got := begun(t, path); got > was+1 {
		t.Errorf("the log began anew %d times under a reader, want at most the one time before it came", got-was)
	}
	if err := c.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	beginAnew(t, l, path)
	if r := audittest.VerifyRecords(t, db, nil); !r.OK() {
		t.Errorf("Verify: %s", r.String())
	}
}

// childCheckpoint empties the log without end, in every way there is.
func childCheckpoint(path string) error {
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return err
	}
	fmt.Println("begun")
	go func() {
		for {
			for _, mode := range []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"} {
				// What is busy is tried again.
				_ = c.Exec("PRAGMA wal_checkpoint(" + mode + ")")
			}
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func TestOthersEmptyTheLogToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	var logged strings.Builder
	o := sqlite.ShortLog()
	o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	db := open(t, path, o)
	l := audittest.NewLog(t, db)
	other := startChild(t, "checkpoint", path)
	if !other.lines.Scan() {
		t.Fatal("the other process has not begun")
	}
	const writers, each = 16, 30
	writeConcurrently(t, l, writers, each, 2000)
	other.stdin.Close()
	if err := other.cmd.Wait(); err != nil {
		t.Errorf("the other process: %v", err)
	}
	if r := audittest.VerifyRecords(t, db, nil); !r.OK() || r.Records != writers*each {
		t.Errorf("Verify: %s, want %d good records", r.String(), writers*each)
	}
	if err := db.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if logged.Len() > 0 {
		t.Errorf("logged %s, want nothing", logged.String())
	}
}
