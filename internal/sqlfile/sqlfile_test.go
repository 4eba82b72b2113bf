package sqlfile_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/internal/sqlfile"
)

func openFile(t *testing.T, path string, o sqlfile.Options) *sqlite3.Conn {
	t.Helper()
	o.Create = true
	c, err := sqlfile.OpenConn(t.Context(), path, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func readText(t *testing.T, c *sqlite3.Conn, sql string) string {
	t.Helper()
	s, _, err := c.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Step()
	return s.ColumnText(0)
}

func TestAConnectionIsSetUp(t *testing.T) {
	t.Parallel()
	for relaxed, want := range map[bool]string{false: "2", true: "1"} {
		// The name is no URI, so that nothing in it is an option.
		c := openFile(t, filepath.Join(t.TempDir(), "a.db?mode=memory"), sqlfile.Options{Relaxed: relaxed, MaxBytes: 64 << 10})
		for pragma, want := range map[string]string{"synchronous": want, "secure_delete": "1", "trusted_schema": "0", "max_page_count": "16", "cell_size_check": "1"} {
			if got := readText(t, c, "PRAGMA "+pragma); got != want {
				t.Errorf("%s = %s, want %s", pragma, got, want)
			}
		}
		if err := c.Exec("CREATE TABLE t(x); INSERT INTO t VALUES(zeroblob(1 << 20))"); !errors.Is(err, sqlite3.FULL) {
			t.Errorf("beyond the bound: %v, want it full", err)
		}
	}
	if c, err := sqlfile.OpenConn(t.Context(), filepath.Join(t.TempDir(), "missing"), &sqlfile.Options{}); err == nil {
		t.Errorf("a missing file opens: %v", c.Close())
	}
}

// Many that open a new file at once wait for each other, and so do writers; one that may not
// wait does not.
func TestConnectionsWaitForEachOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			c, err := sqlfile.OpenConn(t.Context(), path, &sqlfile.Options{Create: true, Busy: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			err = sqlfile.EnterWAL(t.Context(), c, time.Minute)
			for i := 0; i < 5 && err == nil; i++ {
				err = c.Exec("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES(1); COMMIT")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c := openFile(t, path, sqlfile.Options{Busy: time.Minute})
	if got := readText(t, c, "SELECT count(*) FROM t"); got != "40" {
		t.Errorf("%s rows, want 40", got)
	}
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := openFile(t, path, sqlfile.Options{}).Exec("BEGIN IMMEDIATE"); !errors.Is(err, sqlite3.BUSY) {
		t.Errorf("without a wait: %v, want it busy", err)
	}
	patient := openFile(t, path, sqlfile.Options{Busy: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	patient.SetInterrupt(ctx)
	if err := patient.Exec("BEGIN IMMEDIATE"); err == nil {
		t.Error("a wait that was ended goes on")
	}
}
