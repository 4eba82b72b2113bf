package recordlog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store"
)

// addRecords appends records of a size.
func addRecords(t testing.TB, l *Log, n, size int) error {
	t.Helper()
	return l.Append(t.Context(), func(h audit.Head) ([]audit.Record, error) {
		var records []audit.Record
		for i := range int64(n) {
			r := audit.Record{Seq: h.Seq + 1 + i, Time: 1, Kind: audit.KindIntent, Body: make([]byte, size)}
			r.Hash[0] = byte(r.Seq)
			records = append(records, r)
		}
		return records, nil
	})
}

// TestNoProcessLeavesASegmentBeforeItIsOnTheDisk has another process look for the
// end of the log while a segment that is full waits for the disk.
func TestNoProcessLeavesASegmentBeforeItIsOnTheDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	b := openLog(t, dir, logIn(t, dir))
	o := small()
	looked := 0
	o.filling = func() {
		looked++
		if err := b.catchUp(context.Background()); err != nil && !errors.Is(err, errUnsettled) {
			t.Error(err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.tail.seg.number != 1 {
			t.Errorf("the other process is in segment %d", b.tail.seg.number)
		}
	}
	id, err := ReadID(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(dir, id, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := addRecords(t, b.Log, 1, 100); err != nil {
		t.Fatal(err)
	}
	if err := addRecords(t, a, 8, 4000); err != nil || looked == 0 {
		t.Fatalf("Append = %v, with %d full segments", err, looked)
	}
	o.filling = nil
	if err := b.Log.Sync(); err != nil || b.tail.head.Seq != 9 || b.tail.seg.number != a.tail.seg.number {
		t.Errorf("afterwards: Sync = %v, head %d, segment %d", err, b.tail.head.Seq, b.tail.seg.number)
	}
}

// TestALogThatIsExchangedWhileInUseIsGivenUp takes away what a running process has
// open. Nothing may be called kept after that.
func TestALogThatIsExchangedWhileInUseIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string, l *Log) error{
		"lock removed":   func(dir string, _ *Log) error { return os.Remove(filepath.Join(dir, lockName)) },
		"folder removed": func(dir string, _ *Log) error { return os.RemoveAll(dir) },
		"folder renamed": func(dir string, _ *Log) error { return os.Rename(dir, dir+".old") },
		"lock exchanged": func(dir string, _ *Log) error {
			path := filepath.Join(dir, lockName)
			return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
		},
		"end cut off": func(dir string, l *Log) error {
			f, err := os.OpenFile(filepath.Join(dir, segmentName(1)), os.O_RDWR, 0)
			if err != nil {
				return err
			}
			return errors.Join(fillZeros(f, l.tail.off/2&^(frameAlign-1), l.tail.off), f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "log")
			l := openLog(t, dir, logIn(t, dir)).Log
			if err := errors.Join(addRecords(t, l, 5, 100), l.Sync()); err != nil {
				t.Fatal(err)
			}
			if err := addRecords(t, l, 1, 100); err != nil {
				t.Fatal(err)
			}
			if err := spoil(dir, l); err != nil {
				t.Fatal(err)
			}
			if name != "end cut off" { // its own records are still in the file that it has open
				if err := l.Sync(); !errors.Is(err, store.ErrDamaged) {
					t.Errorf("Sync = %v, want ErrDamaged", err)
				}
			}
			for range 2 {
				if err := addRecords(t, l, 1, 100); !errors.Is(err, store.ErrDamaged) {
					t.Errorf("Append = %v, want ErrDamaged", err)
				}
			}
		})
	}
}

// TestAFinishedPruningStays has a process that means to finish a pruning wait for
// the one that does so itself, and prunes further.
func TestAFinishedPruningStays(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	a := openLog(t, dir, id)
	var entries []Entry
	if err := addRecords(t, a.Log, 10, 100); err != nil {
		t.Fatal(err)
	}
	v, err := a.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range a.Scan(t.Context(), &v, v.First, 1) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	step := func(b *base, i int) {
		b.First, b.Clean = entries[i].Next, false
		b.setCheckpoint(&audit.Record{Seq: entries[i].Seq, Hash: entries[i].Hash, Kind: audit.KindCheckpoint, Body: []byte("x")})
		if err := writeBase(dir, b); err != nil {
			t.Error(err)
		}
	}
	other := openLog(t, dir, id)
	finished := make(chan error)
	err = a.withTail(t.Context(), func() error {
		b, err := readBase(dir)
		if err != nil {
			return err
		}
		step(&b, 2)
		// It saw a pruning that was not finished, and waits for the lock.
		go func() { finished <- other.withTail(context.Background(), other.finishPruning) }()
		if err := a.clean(&b); err != nil {
			return err
		}
		step(&b, 6)
		return a.clean(&b)
	})
	if err := errors.Join(err, <-finished); err != nil {
		t.Fatal(err)
	}
	b, err := readBase(dir)
	if err != nil || b.Checkpoint.Seq != 7 {
		t.Errorf("the base is of %d (%v), want 7", b.Checkpoint.Seq, err)
	}
}
