package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/sqlite"
)

func TestAcknowledgedSurvivesKill(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"write", "write with checkpoints"} {
		t.Run(role, func(t *testing.T) { surviveKill(t, role, 1, 5, 60) })
	}
	t.Run("several writers", func(t *testing.T) { surviveKill(t, "write", 3, 17, 10) })
}

// surviveKill kills processes that play the role, again and again, in the middle
// of what they do.
func surviveKill(t *testing.T, role string, writers, rounds, acks int) {
	path := filepath.Join(t.TempDir(), "state.db")
	acknowledged := make(map[string]bool)
	var mu sync.Mutex
	for round := range rounds {
		var wg sync.WaitGroup
		for w := range writers {
			c := startChild(t, role, path, fmt.Sprint("round", round, "writer", w))
			wg.Go(func() {
				for n := 0; c.lines.Scan(); n++ {
					mu.Lock()
					acknowledged[c.lines.Text()] = true
					mu.Unlock()
					if n == acks {
						// SIGKILL, in the middle of the next write.
						if err := c.cmd.Process.Kill(); err != nil {
							t.Error(err)
						}
					}
				}
				_ = c.cmd.Wait()
			})
		}
		wg.Wait()
	}
	if len(acknowledged) < writers*rounds*acks {
		t.Fatalf("%d writes were acknowledged, want at least %d", len(acknowledged), writers*rounds*acks)
	}
	db := open(t, path, nil)
	r := audittest.VerifyRecords(t, db, nil)
	if !r.OK() || r.UnknownCount > writers*rounds {
		t.Errorf("Verify: %s, want a good chain and at most one unknown outcome a round", r.String())
	}
	if err := db.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
	kv, err := db.KV(t.Context(), "tool:a")
	if err != nil {
		t.Fatal(err)
	}
	outcomes := make(map[string]bool)
	for e, err := range audit.Events(t.Context(), db, audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		outcomes[e.CallID] = outcomes[e.CallID] || e.Kind == audit.KindOutcome
	}
	for id := range acknowledged {
		if got, ok, err := kv.Get(t.Context(), id); got != id || !ok || err != nil {
			t.Errorf("Get(%s) = %q, %v, %v after it was acknowledged", id, got, ok, err)
		}
		if !outcomes[id] {
			t.Errorf("the outcome of %s is gone after it was acknowledged", id)
		}
	}
}

func TestManyProcessesOneChain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	const processes = 8
	children := make([]*child, processes)
	// The first of them create the file, all at once.
	for i := range children {
		children[i] = startChild(t, "record", path, fmt.Sprint("process", i))
	}
	db := open(t, path, nil)
	l := audittest.NewLog(t, db)
	audittest.RecordCalls(t, l, db, "here", childEvents/2)
	for i, c := range children {
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	r := audittest.VerifyRecords(t, db, nil)
	if want := int64((processes + 1) * childEvents); !r.OK() || r.Records != want || r.Head.Seq != want {
		t.Errorf("Verify: %s, want %d good records", r.String(), want)
	}
	for i := range processes {
		for n := range childEvents {
			call := fmt.Sprintf("process%d-%d", i, n)
			if got := count(t, db, audit.Query{Call: call}); got != 1 {
				t.Errorf("%d records of %s, want 1", got, call)
			}
		}
	}
}

func count(t testing.TB, r audit.Reader, q audit.Query) (n int) {
	t.Helper()
	for _, err := range r.Read(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestFirstOpenAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 10 {
		dir := filepath.Join(t.TempDir(), "a", "b")
		path := filepath.Join(dir, "state.db")
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				db, err := sqlite.Open(t.Context(), path, nil)
				if err != nil {
					t.Errorf("round %d: Open = %v", round, err)
					return
				}
				defer db.Close()
				if _, _, err := db.Settings().PutIfAbsent(t.Context(), "first", fmt.Sprint(i)); err != nil {
					t.Errorf("round %d: PutIfAbsent = %v", round, err)
				}
			})
		}
		wg.Wait()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "state.db") {
				t.Errorf("round %d: %s is left behind", round, e.Name())
			}
		}
	}
}

func TestOpenFillsAnEmptyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	write(t, path, nil)
	db := open(t, path, nil)
	audittest.RecordCalls(t, audittest.NewLog(t, db), db, "c", 1)
	checkPrivate(t, path)
}

func TestLockedByAnotherWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, &sqlite.Options{Busy: 50 * time.Millisecond})
	l := audittest.NewLog(t, db)
	audittest.RecordCalls(t, l, db, "before", 1)
	kv, err := db.KV(t.Context(), "tool:a")
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, path, "BEGIN IMMEDIATE")

	err = kv.Set(t.Context(), "k", "v", 0)
	if !errors.Is(err, store.ErrLocked) || err.Error() != "state file is locked" {
		t.Errorf("Set = %v, want ErrLocked and no more words", err)
	}
	// The record has a lock of its own.
	head := audittest.RecordCalls(t, l, db, "during", 1)
	if _, ok, err := kv.Get(t.Context(), "k"); ok || err != nil {
		t.Errorf("Get = %v, %v, want absent: a writer locks no reader out", ok, err)
	}
	// Opening needs no write.
	other := open(t, path, &sqlite.Options{Busy: 50 * time.Millisecond})
	if got, err := audit.Newest(t.Context(), other); got != head || err != nil {
		t.Errorf("Newest = %v, %v, want %v", got, err, head)
	}
	release()
	if err := kv.Set(t.Context(), "k", "v", 0); err != nil {
		t.Errorf("Set after the lock is gone = %v", err)
	}
	audittest.RecordCalls(t, l, db, "after", 1)
	if r := audittest.VerifyRecords(t, db, &audit.VerifyOptions{Head: &head}); !r.OK() || r.Records != 6 {
		t.Errorf("Verify: %s, want 6 good records", r.String())
	}
}

func TestLockedExclusively(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	first, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	release := hold(t, path, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE x(y)")
	if _, err := sqlite.Open(t.Context(), path, &sqlite.Options{Busy: 50 * time.Millisecond}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("Open = %v, want ErrLocked", err)
	}
	release()
	open(t, path, nil)
}
