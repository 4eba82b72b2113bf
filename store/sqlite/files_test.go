package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/store/sqlite"
)

func farFuture() time.Time { return time.Now().Add(24 * time.Hour) }

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func cut(t testing.TB, path string, n int64) {
	t.Helper()
	if err := os.Truncate(path, n); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// scribble overwrites up to n bytes from offset and does not make the file
// longer.
func scribble(t testing.TB, path string, offset, n int64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(data)) <= offset {
		t.Fatalf("the file has %d bytes, want more than %d", len(data), offset)
	}
	end := min(offset+n, int64(len(data)))
	copy(data[offset:end], bytes.Repeat([]byte{0xa5}, int(end-offset)))
	write(t, path, data)
}

// rawCreate makes a database of another program.
func rawCreate(t testing.TB, path string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec("CREATE TABLE migrations(version); INSERT INTO migrations VALUES(1)"); err != nil {
		t.Fatal(err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, "state.db")
	for range 2 {
		db, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		audittest.RecordCalls(t, audittest.NewLog(t, db), db, "c", 1)
		checkPrivate(t, path)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: mode %v, %v, want 0700", info.Mode(), err)
	}
}

func checkPrivate(t testing.TB, path string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("permission bits say nothing on Windows")
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != 0o600 {
			t.Errorf("state.db%s: mode %v, want 0600", suffix, info.Mode())
		}
	}
}
