package recordlog

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport/store"
)

const (
	// keepAfter is how many batches follow each other within keepWithin before
	// the lock stays with the process between them.
	keepAfter  = 4
	keepWithin = 500 * time.Microsecond
	// reviewAfter is how long a process that keeps the lock goes on without a look
	// whether another one waits for it.
	reviewAfter = time.Millisecond
	// shareFor is how long a process locks each batch for itself once another one
	// has waited.
	shareFor = 100 * time.Millisecond
	// wantAt is where a process that waits for the lock changes a word of its file.
	wantAt = stampAt + 8
)

// keeping is what a log knows of the lock that it keeps between its batches. To
// lock, to look at the end of the log and to unlock takes longer than to write a
// record, and mostly no other process needs the lock. A process that needs it says so
// in the file of the lock. A review releases the lock when it finds that, and when
// nothing was written since the last review.
type keeping struct {
	// kept is true while the folder stays locked between batches. Who reads it without
	// the lock learns that no other process has added anything until then.
	kept atomic.Bool
	// used is true when there was a batch since the last review.
	used bool
	// quick counts the batches that followed each other quickly, the newest of
	// which ended at last.
	quick int
	last  time.Time
	// shareUntil is when the lock may be kept again.
	shareUntil time.Time
	// want is the word of who waits, as it was at the last review.
	want   uint64
	review *time.Timer
}

// acquireLock locks the folder unless this log keeps it, and waits for other
// processes. It polls, because a wait for a lock cannot be ended.
func (l *Log) acquireLock(ctx context.Context) error {
	const shortest, longest = 20 * time.Microsecond, time.Millisecond
	var began time.Time
	for pause := shortest; ; pause = min(2*pause, longest) {
		if got, err := l.tryAcquireLock(); got || err != nil {
			return err
		}
		if began.IsZero() {
			began = time.Now()
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(began) > l.o.Busy:
			return &store.Error{Reason: store.ErrLocked}
		}
		// Where the disk has no room for the question, the lock comes later.
		_ = l.askForLock()
		time.Sleep(pause)
	}
}

func (l *Log) tryAcquireLock() (bool, error) {
	if l.keep.kept.Load() {
		return true, nil
	}
	return tryLock(l.lock)
}

// askForLock tells the process that keeps the lock that another one waits.
func (l *Log) askForLock() error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], rand.Uint64())
	_, err := l.lock.WriteAt(b[:], wantAt)
	return err
}

// isLockWanted reports whether a process has asked for the lock since the last look.
func (l *Log) isLockWanted() bool {
	var b [8]byte
	if _, err := l.lock.ReadAt(b[:], wantAt); err != nil && !errors.Is(err, io.EOF) {
		return true
	}
	before := l.keep.want
	l.keep.want = binary.LittleEndian.Uint64(b[:])
	return l.keep.want != before
}

// leaveLock ends a batch: it releases the lock, or keeps it where batches follow
// each other quickly.
func (l *Log) leaveLock(keep bool) {
	k := &l.keep
	switch {
	case !keep:
		l.releaseLock()
	case k.kept.Load():
		k.used = true
	case !l.isQuick():
		l.releaseLock()
	default:
		k.used = true
		k.kept.Store(true)
		if k.review == nil {
			k.review = time.AfterFunc(reviewAfter, l.reviewLock)
		} else {
			k.review.Reset(reviewAfter)
		}
	}
}

// isQuick counts a batch, and reports whether the lock is to be kept after it.
func (l *Log) isQuick() bool {
	k, now := &l.keep, time.Now()
	if now.Sub(k.last) > keepWithin {
		k.quick = 0
	}
	k.quick++
	k.last = now
	return k.quick > keepAfter && now.After(k.shareUntil)
}

func (l *Log) releaseLock() {
	l.keep.kept.Store(false)
	_ = unlock(l.lock)
}

// reviewLock is the work of the timer. It notices, too, that the folder was removed
// or exchanged while the lock was kept.
func (l *Log) reviewLock() {
	l.writing.Lock()
	defer l.writing.Unlock()
	k := &l.keep
	if !k.kept.Load() {
		return
	}
	if l.isLockWanted() {
		k.shareUntil = time.Now().Add(shareFor)
		k.used = false
	}
	l.mu.Lock()
	err := l.checkLock()
	l.mu.Unlock()
	if !k.used || err != nil {
		k.quick = 0
		l.releaseLock()
		return
	}
	k.used = false
	k.review.Reset(reviewAfter)
}
