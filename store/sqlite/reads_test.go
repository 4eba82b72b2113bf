package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/sqlite"
	"github.com/sallyport/sallyport/store/storetest"
)

// TestLoggedReads runs the suites with a log of reads from the first read on.
func TestLoggedReads(t *testing.T) {
	t.Parallel()
	open := func(t testing.TB, path string, o *sqlite.Options) *sqlite.DB {
		db := open(t, path, o)
		db.LogReads()
		return db
	}
	t.Run("Store", func(t *testing.T) {
		storetest.Run(t, func(t testing.TB, o storetest.Options) store.State {
			return open(t, filepath.Join(t.TempDir(), "state.db"), &sqlite.Options{Limits: o.Limits, Now: o.Now})
		})
	})
	t.Run("DurableStore", func(t *testing.T) {
		storetest.RunDurable(t, func(t testing.TB, dir string) store.State { return open(t, filepath.Join(dir, "state.db"), nil) })
	})
}

// childRead reads files and prints each once it is remembered, until its standard
// input ends. It leaves its reads in its log.
func childRead(path string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, sqlite.KeepReads())
	if err != nil {
		return err
	}
	for i := range childReads {
		if err := db.Remember(ctx, "p/s", fileRead(i, time.Now())); err != nil {
			return err
		}
		if _, err := fmt.Println(i); err != nil {
			return err
		}
	}
	select {}
}

const childReads = 100

func fileRead(i int, at time.Time) sallyport.ReadRecord {
	return sallyport.ReadRecord{Path: fmt.Sprint("/w/", i), Identity: fmt.Sprint("1:", i), Digest: [32]byte{byte(i)}, Time: at}
}

func wantRead(t *testing.T, db *sqlite.DB, path string, digest byte) {
	t.Helper()
	r, ok, err := db.Recall(t.Context(), "p/s", path, "")
	if !ok || err != nil || r.Digest[0] != digest {
		t.Errorf("Recall(%s) = %v, %v, %v, want the digest %d", path, r.Digest[0], ok, err, digest)
	}
}

// TestReadsSurviveKill reads in another process, of which most reads are in its log:
// each is seen as soon as it is remembered, and when that process was killed.
func TestReadsSurviveKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, nil)
	c := startChild(t, "read", path)
	for i := range childReads {
		if !c.lines.Scan() || c.lines.Text() != fmt.Sprint(i) {
			t.Fatalf("the other process said %q, want %d", c.lines.Text(), i)
		}
		wantRead(t, db, fmt.Sprint("/w/", i), byte(i))
	}
	if n := db.StoredReads(t); n >= childReads {
		t.Fatalf("the file has %d reads: none was in the log", n)
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	for i := range childReads {
		wantRead(t, db, fmt.Sprint("/w/", i), byte(i))
	}
	next := open(t, path, nil)
	if n, files := next.StoredReads(t), readFiles(t, path); n != childReads || len(files) != 0 {
		t.Errorf("the next process found %d reads and left %q, want %d in the file and no log", n, files, childReads)
	}
	for i := range childReads {
		wantRead(t, next, fmt.Sprint("/w/", i), byte(i))
	}
}

func readFiles(t *testing.T, path string) []string {
	t.Helper()
	files, err := filepath.Glob(path + "-log/reads-*")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestReadsOfTwoProcesses reads one file in two processes in turns: the later read
// counts, in whatever order their logs are moved.
func TestReadsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	a, b, direct := open(t, path, sqlite.KeepReads()), open(t, path, sqlite.KeepReads()), open(t, path, nil)
	a.LogReads()
	b.LogReads()
	start := time.Now().Add(-time.Hour)
	read := func(db *sqlite.DB, second int) {
		t.Helper()
		r := fileRead(second, start.Add(time.Duration(second)*time.Second))
		r.Path, r.Identity = "/w/f", "1:1"
		if err := db.Remember(t.Context(), "p/s", r); err != nil {
			t.Fatalf("Remember = %v", err)
		}
		for _, db := range []*sqlite.DB{a, b, direct} {
			wantRead(t, db, "/w/f", byte(second))
		}
	}
	for i, db := range []*sqlite.DB{a, b, direct, b, a, direct, a, b} {
		read(db, i+1)
	}
	for _, db := range []*sqlite.DB{b, a} { // the older one last
		if err := db.MoveReads(t.Context()); err != nil {
			t.Fatalf("MoveReads = %v", err)
		}
		for _, db := range []*sqlite.DB{a, b, direct} {
			wantRead(t, db, "/w/f", 8)
		}
	}
	read(direct, 9)
}

// TestReadsWhenTheClockGoesBack reads again after that.
func TestReadsWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	now := time.Now()
	path := filepath.Join(t.TempDir(), "state.db")
	o := sqlite.KeepReads()
	o.Now = func() time.Time { return now }
	db := open(t, path, o)
	read := func(digest byte) {
		t.Helper()
		r := fileRead(int(digest), now)
		r.Path = "/w/f"
		if err := db.Remember(t.Context(), "p/s", r); err != nil {
			t.Fatalf("Remember = %v", err)
		}
		wantRead(t, db, "/w/f", digest)
	}
	read(1)
	now = now.Add(-time.Minute)
	read(2)
	db.LogReads()
	now = now.Add(-time.Minute)
	read(3)
	if err := db.MoveReads(t.Context()); err != nil {
		t.Fatalf("MoveReads = %v", err)
	}
	wantRead(t, db, "/w/f", 3)
}

// TestLoggedReadsHaveTheClockOfTheWall: the reading of another clock, which never goes
// back, would make an old read newer than one made since the clock went back.
func TestLoggedReadsHaveTheClockOfTheWall(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "state.db"), nil)
	db.LogReads()
	if err := db.Remember(t.Context(), "p/s", fileRead(1, time.Now())); err != nil {
		t.Fatal(err)
	}
	r, ok, err := db.Recall(t.Context(), "p/s", "/w/1", "")
	if !ok || err != nil || strings.Contains(r.Time.String(), "m=") {
		t.Errorf("Recall = %v, %v, %v", r.Time, ok, err)
	}
}

// TestReadsAreMovedBehind waits for that: nothing is left in the log for long, and
// nothing at a clean end.
func TestReadsAreMovedBehind(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, nil)
	db.LogReads()
	remember := func(from, to int) {
		for i := from; i < to; i++ {
			if err := db.Remember(t.Context(), "p/s", fileRead(i, time.Now())); err != nil {
				t.Fatalf("Remember = %v", err)
			}
		}
	}
	remember(0, 100)
	for db.StoredReads(t) < 100 {
		time.Sleep(time.Millisecond)
	}
	remember(100, 200)
	if err := db.Close(); err != nil {
		t.Fatalf("Close = %v", err)
	}
	next := open(t, path, nil)
	if n, files := next.StoredReads(t), readFiles(t, path); n != 200 || len(files) != 0 {
		t.Errorf("%d reads are stored and %q is left, want 200 and no log", n, files)
	}
}

// TestReadsBeyondTheLog reads more files than the log holds, while nothing moves them.
func TestReadsBeyondTheLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db, other := open(t, path, sqlite.KeepReads()), open(t, path, nil)
	db.LogReads()
	const files = 2000
	for i := range files {
		if err := db.Remember(t.Context(), "p/s", fileRead(i, time.Now())); err != nil {
			t.Fatalf("Remember = %v", err)
		}
	}
	if n := other.StoredReads(t); n < files/2 || n == files {
		t.Errorf("%d of %d reads are stored, want all but those in the log", n, files)
	}
	for i := 0; i < files; i += 97 {
		wantRead(t, other, fmt.Sprint("/w/", i), byte(i))
		wantRead(t, db, fmt.Sprint("/w/", i), byte(i))
	}
}
