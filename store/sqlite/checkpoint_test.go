package sqlite_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/store/sqlite"
)

// writeConcurrently sets keys by many writers at once and returns when all are
// stored. It is the load that fills the write-ahead log.
func writeConcurrently(t testing.TB, db *sqlite.DB, writers, each, bytes int) {
	t.Helper()
	kv, err := db.KV(t.Context(), "tool:load")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := kv.Set(t.Context(), fmt.Sprintf("%d-%d", w, i), strings.Repeat("x", bytes)+fmt.Sprint(rand.Int64()), 0); err != nil {
					t.Errorf("Set = %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// wantKeys checks how many keys the load has set.
func wantKeys(t testing.TB, db *sqlite.DB, n int) {
	t.Helper()
	kv, err := db.KV(t.Context(), "tool:load")
	if err != nil {
		t.Fatal(err)
	}
	if keys, err := kv.List(t.Context(), ""); len(keys) != n || err != nil {
		t.Errorf("%d keys, %v, want %d", len(keys), err, n)
	}
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
	const writers, each, bytes = 32, 30, 8 << 10
	writeConcurrently(t, db, writers, each, bytes)
	if got := size(t, path+"-wal"); got >= sqlite.LogLimit || got == 0 {
		t.Errorf("the log has %d bytes after %d writes of %d, want less than %d", got, writers*each, bytes, sqlite.LogLimit)
	}
	wantKeys(t, db, writers*each)
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
func beginAnew(t testing.TB, db *sqlite.DB, path string) {
	t.Helper()
	const most = 2000
	for was, n := begun(t, path), 0; begun(t, path) == was; n++ {
		if n == most {
			t.Fatalf("the log has not begun anew in %d writes", most)
		}
		writeConcurrently(t, db, 1, 1, 100)
	}
}

// TestLogWaitsForReaders: what a reader holds stays, others write on, and the
// log begins anew when the reader is gone.
func TestLogWaitsForReaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	o := sqlite.ShortLog()
	o.Busy = time.Hour // writers never wait that long for a reader
	db := open(t, path, o)
	writeConcurrently(t, db, 1, 1, 100)
	beginAnew(t, db, path)

	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	writeConcurrently(t, db, 1, 1, 100) // something that only the log has
	if err := c.Exec("BEGIN; SELECT count(*) FROM kv"); err != nil {
		t.Fatal(err)
	}
	writeConcurrently(t, db, 1, 1, 100)
	was := begun(t, path)
	writeConcurrently(t, db, 8, 20, 100)
	if got := begun(t, path); got > was+1 {
		t.Errorf("the log began anew %d times under a reader, want at most the one time before it came", got-was)
	}
	if err := c.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	beginAnew(t, db, path)
	wantKeys(t, db, 8*20)
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
	other := startChild(t, "checkpoint", path)
	if !other.lines.Scan() {
		t.Fatal("the other process has not begun")
	}
	const writers, each = 16, 30
	writeConcurrently(t, db, writers, each, 2000)
	other.stdin.Close()
	if err := other.cmd.Wait(); err != nil {
		t.Errorf("the other process: %v", err)
	}
	wantKeys(t, db, writers*each)
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
