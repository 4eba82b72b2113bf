package recordlog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport/store"
)

// keepLock adds records until the lock stays with the log.
func keepLock(t testing.TB, l *Log) {
	t.Helper()
	for range 100_000 {
		if err := addRecords(t, l, 1, 100); err != nil {
			t.Fatal(err)
		}
		l.writing.Lock()
		l.keep.shareUntil = time.Time{}
		kept := l.keep.kept.Load()
		l.writing.Unlock()
		if kept {
			return
		}
	}
	t.Fatal("the lock is never kept")
}

// TestAKeptLockGoesToWhoWaits: at the next review, and at the one after which nothing
// was written.
func TestAKeptLockGoesToWhoWaits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	busy, other := openLog(t, dir, id), openLog(t, dir, id)
	release := map[string]func(){
		"another waits": func() {
			if err := errors.Join(other.askForLock(), addRecords(t, busy.Log, 1, 100)); err != nil {
				t.Error(err)
			}
			busy.reviewLock()
		},
		"nothing is written": func() { busy.reviewLock(); busy.reviewLock() },
	}
	for name, release := range release {
		keepLock(t, busy.Log)
		release()
		if got, err := other.tryAcquireLock(); !got || err != nil {
			t.Errorf("%s: the lock is still kept (%v)", name, err)
		}
		other.releaseLock()
		if err := addRecords(t, other.Log, 1, 100); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []chain{busy, other} {
		if v, err := c.View(t.Context()); err != nil || v.Head != other.tail.head {
			t.Errorf("View ends at record %d (%v), want %d", v.Head.Seq, err, other.tail.head.Seq)
		}
	}
}

// TestAWriterWaitsForAKeptLock has one process write all the time, and another one once.
func TestAWriterWaitsForAKeptLock(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	busy, other := openLog(t, dir, id), openLog(t, dir, id)
	keepLock(t, busy.Log)
	done := make(chan error)
	go func() { done <- addRecords(t, other.Log, 1, 100) }()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the other process: %v", err)
			}
			return
		default:
			if err := addRecords(t, busy.Log, 1, 100); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestALogThatIsExchangedWhileItsLockIsKept is noticed by a review.
func TestALogThatIsExchangedWhileItsLockIsKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	l := openLog(t, dir, logIn(t, dir)).Log
	keepLock(t, l)
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	l.reviewLock()
	if err := addRecords(t, l, 1, 100); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Append = %v, want ErrDamaged", err)
	}
}

// TestAProcessThatIsStoppedWithTheLock keeps others from writing, who say so.
func TestAProcessThatIsStoppedWithTheLock(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	stopped := openLog(t, dir, id)
	o := small()
	o.Busy = 20 * time.Millisecond
	other, err := Open(dir, id, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	err = stopped.withLock(t.Context(), func() error { return addRecords(t, other, 1, 100) })
	if !errors.Is(err, store.ErrLocked) {
		t.Errorf("Append = %v, want ErrLocked", err)
	}
	if err := addRecords(t, other, 1, 100); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
