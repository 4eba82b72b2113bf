package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/sqlite"
)

// TestLimitsSurviveRestart opens the file anew for every call, as single calls
// of the command line do.
func TestLimitsSurviveRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	limit := sallyport.RateLimit{Requests: 3, Window: time.Hour}
	for i := range 6 {
		db, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		want := time.Duration(0)
		if i >= limit.Requests {
			want = time.Hour - time.Duration(i)*time.Minute
		}
		if wait, err := db.Admit(t.Context(), "k", limit); wait != want || err != nil {
			t.Errorf("call %d: Admit = %v, %v, want %v", i, wait, err, want)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
}

// childLimit is what the children share.
func childLimit() sallyport.RateLimit { return sallyport.RateLimit{Requests: 100, Window: time.Hour} }

// childAdmit asks for admissions until it is refused and prints each.
func childAdmit(path string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	for {
		wait, err := db.Admit(ctx, "k", childLimit())
		if err != nil {
			return err
		}
		if wait > 0 {
			return db.Close()
		}
		if _, err := fmt.Fprintln(os.Stdout, "admitted"); err != nil {
			return err
		}
	}
}

func TestManyProcessesOneLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	children := make([]*child, 6)
	// The first of them create the file, all at once.
	for i := range children {
		children[i] = startChild(t, "admit", path)
	}
	admitted := 0
	for i, c := range children {
		for c.lines.Scan() {
			admitted++
		}
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	// A process that does not run for twice the time of its lease, as on a busy machine,
	// counts as one that died with it. TestLeasesNeverExceedALimit and
	// TestAWholeLimitCanBeUsed have the exact count, in a time of their own.
	if most := childLimit().Requests; admitted > most || admitted < most-len(children)*most/8 {
		t.Errorf("%d calls of %d processes were admitted, want %d, less the leases of processes that stood still", admitted, len(children), most)
	}
	wait, err := open(t, path, nil).Admit(t.Context(), "k", childLimit())
	if wait <= 0 || err != nil {
		t.Errorf("Admit afterwards = %v, %v, want a wait", wait, err)
	}
}

// TestAdmissionsSurviveKill kills processes between and during admissions.
func TestAdmissionsSurviveKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	const rounds, acks = 4, 10
	admitted := 0
	for range rounds {
		c := startChild(t, "admit", path)
		for n := 1; c.lines.Scan(); n++ {
			admitted++
			if n == acks {
				if err := c.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = c.cmd.Wait()
	}
	db := open(t, path, nil)
	for {
		wait, err := db.Admit(t.Context(), "k", childLimit())
		if err != nil {
			t.Fatal(err)
		}
		if wait > 0 {
			break
		}
		admitted++
	}
	// A process may die after an admission that it has not told yet, and with the
	// eighth of the rest that it had leased.
	if most := childLimit().Requests; admitted > most || admitted < most-rounds*(1+most/8) {
		t.Errorf("%d calls were admitted, want %d, less a lease a round at most", admitted, most)
	}
}

func TestALimitThatCannotBeCountedAdmitsNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, &sqlite.Options{Busy: 50 * time.Millisecond})
	limit := sallyport.RateLimit{Requests: 1, Window: time.Hour}
	release := hold(t, path, "BEGIN IMMEDIATE")
	if _, err := db.Admit(t.Context(), "k", limit); !errors.Is(err, store.ErrLocked) {
		t.Errorf("Admit of a locked file = %v, want ErrLocked", err)
	}
	release()
	if wait, err := db.Admit(t.Context(), "k", limit); wait != 0 || err != nil {
		t.Errorf("Admit = %v, %v: an admission that failed counts", wait, err)
	}
	rawExec(t, path, "DROP TABLE admissions")
	if _, err := db.Admit(t.Context(), "other", limit); err == nil {
		t.Error("Admit without its table = no error")
	}
}

// rows counts what the file holds of limits.
func rows(t testing.TB, path string) (keys, times int) {
	t.Helper()
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, _, err := c.Prepare("SELECT (SELECT count(*) FROM limits), (SELECT count(*) FROM admissions)")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Step()
	return s.ColumnInt(0), s.ColumnInt(1)
}

func TestLimitRowsAreBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(t, path, &sqlite.Options{Now: func() time.Time { return now }})
	use := func(key string, n int, l sallyport.RateLimit) {
		t.Helper()
		for range n {
			if wait, err := db.Admit(t.Context(), key, l); wait != 0 || err != nil {
				t.Fatalf("Admit(%s) = %v, %v", key, wait, err)
			}
			now = now.Add(time.Second)
		}
	}
	large := sallyport.RateLimit{Requests: 1200, Window: time.Hour}
	small := sallyport.RateLimit{Requests: 3, Window: 2 * time.Second}
	use("k", 600, large)
	now = now.Add(time.Hour)
	// No more times than count, whatever there were before.
	use("k", 40, small)
	if _, times := rows(t, path); times != small.Requests {
		t.Errorf("%d times are kept, want %d", times, small.Requests)
	}
	// Keys that are not used go when others come, large ones piece by piece.
	use("large", 1200, large)
	for i := range 100 {
		use(fmt.Sprint("old", i), 2, small)
	}
	now = now.Add(48 * time.Hour)
	for i := range 100 {
		use(fmt.Sprint("new", i), 2, small)
	}
	if keys, times := rows(t, path); keys != 100 || times != 200 {
		t.Errorf("%d keys with %d times are left, want those in use", keys, times)
	}
}

func TestLimitKeysAreBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, &sqlite.Options{Limits: store.Limits{LimitKeys: 1000}})
	limit := sallyport.RateLimit{Requests: 1, Window: time.Hour}
	if wait, err := db.Admit(t.Context(), "k", limit); wait != 0 || err != nil {
		t.Fatalf("Admit = %v, %v", wait, err)
	}
	fillLimits(t, path, 999)
	_, err := db.Admit(t.Context(), "one more", limit)
	if !errors.Is(err, store.ErrFull) || strings.Contains(err.Error(), "keys") {
		t.Errorf("Admit of one key more = %v, want ErrFull and no more words", err)
	}
	if wait, err := db.Admit(t.Context(), "k", limit); wait <= 0 || err != nil {
		t.Errorf("Admit of a known key = %v, %v, want it to be counted still", wait, err)
	}
}

// TestAFullStoreMakesRoom has one large key that expired and removes it piece
// by piece, also by calls that are refused in between.
func TestAFullStoreMakesRoom(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	db := open(t, filepath.Join(t.TempDir(), "state.db"), &sqlite.Options{
		Limits: store.Limits{LimitKeys: 1}, Now: func() time.Time { return now },
	})
	limit := sallyport.RateLimit{Requests: 1200, Window: time.Hour}
	for range limit.Requests {
		if wait, err := db.Admit(t.Context(), "large", limit); wait != 0 || err != nil {
			t.Fatalf("Admit = %v, %v", wait, err)
		}
	}
	now = now.Add(48 * time.Hour)
	for range 2 {
		if _, err := db.Admit(t.Context(), "other", limit); !errors.Is(err, store.ErrFull) {
			t.Errorf("Admit = %v, want ErrFull while the other key goes", err)
		}
	}
	if wait, err := db.Admit(t.Context(), "other", limit); wait != 0 || err != nil {
		t.Errorf("Admit = %v, %v, want room in the end", wait, err)
	}
}

// fillLimits adds keys that are in use.
func fillLimits(t testing.TB, path string, n int) {
	t.Helper()
	rawExec(t, path, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d)
		INSERT INTO limits(key, count, last, ahead, dropped, expires)
		SELECT CAST('key' || i AS BLOB), 0, 0, 0, 0, %d FROM n`, n, time.Now().Add(time.Hour).UnixNano()))
}

// BenchmarkAdmit measures one admission or refusal, each a write transaction.
func BenchmarkAdmit(b *testing.B) {
	tests := []struct {
		name  string
		limit sallyport.RateLimit
	}{
		{"admitted", sallyport.RateLimit{Requests: 1, Window: time.Nanosecond}},
		{"admitted of 10000", sallyport.RateLimit{Requests: 10_000, Window: time.Nanosecond}},
		{"refused", sallyport.RateLimit{Requests: 1, Window: 24 * time.Hour}},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			db := open(b, filepath.Join(b.TempDir(), "state.db"), nil)
			keys := make([]string, 100)
			for i := range keys {
				keys[i] = fmt.Sprint("tool/principal-", i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := db.Admit(b.Context(), keys[i%len(keys)], tt.limit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("admitted often", func(b *testing.B) {
		db := open(b, filepath.Join(b.TempDir(), "state.db"), nil)
		limit := sallyport.RateLimit{Requests: 1_000_000, Window: leasedWindow}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := db.Admit(b.Context(), "k", limit); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new key of 100000", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "state.db")
		db := open(b, path, nil)
		fillLimits(b, path, 100_000)
		limit := sallyport.RateLimit{Requests: 1, Window: time.Hour}
		for i := 0; b.Loop(); i++ {
			_, err := db.Admit(b.Context(), fmt.Sprint("another-", i), limit)
			if err != nil && !errors.Is(err, store.ErrFull) {
				b.Fatal(err)
			}
		}
	})
}
