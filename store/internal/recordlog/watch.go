package recordlog

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"

	"github.com/sallyport/sallyport/audit"
)

// stampAt is where the stamp stands in the file of the lock: behind the byte that
// some systems lock.
const stampAt = 8

// Watch calls see with each record from a place on, in the order of the log: with
// those of this process before Append returns, and with those of other processes
// before a later CatchUp, View or Append does. The first has the number seq. See must
// not use the log, and keeps nothing of the record's body. When records went
// by that cannot be seen any more, because they were pruned, it is called with nil,
// and then no more.
func (l *Log) Watch(ctx context.Context, from Position, seq int64, see func(*audit.Record)) error {
	shown := seq - 1
	pass := func(v *View) error {
		if v.First > from {
			from, seq, shown = v.First, v.Checkpoint.Seq+1, v.Checkpoint.Seq
		}
		for e, err := range l.Scan(ctx, v, from, seq) {
			if err != nil {
				return err
			}
			see(&e.Record)
			from, seq, shown = e.Next, e.Seq+1, e.Seq
		}
		return nil
	}
	v, err := l.View(ctx)
	if err == nil {
		err = pass(&v) // most of them, while others go on writing
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	b, err := readBase(l.dir)
	if err != nil {
		return err
	}
	v = l.viewTail(&b)
	if err := pass(&v); err != nil {
		return err
	}
	l.see, l.shown = see, shown
	return nil
}

// show shows a record to who watches, once and in order.
func (l *Log) show(r *audit.Record) {
	switch {
	case l.see == nil || r.Seq <= l.shown:
	case r.Seq == l.shown+1:
		l.shown = r.Seq
		l.see(r)
	default:
		l.loseSight()
	}
}

// CatchUp returns when all that was added before has been seen, see Watch.
func (l *Log) CatchUp(ctx context.Context) error { return l.catchUp(ctx) }

// loseSight tells who watches that records went by unseen.
func (l *Log) loseSight() {
	see := l.see
	l.see = nil
	see(nil)
}

// checkSight notices records that went by unseen.
func (l *Log) checkSight() {
	if l.see != nil && l.tail.head.Seq > l.shown {
		l.loseSight()
	}
}

// Stamp returns a word that every process sees changed once PutStamp has returned in
// one of them.
func (l *Log) Stamp() (uint64, error) {
	var b [8]byte
	if _, err := l.lock.ReadAt(b[:], stampAt); err != nil && !errors.Is(err, io.EOF) {
		return 0, l.closedOr(err)
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// PutStamp changes the word that Stamp returns. It stands in the file of the lock,
// and says that something beside the log has changed.
func (l *Log) PutStamp() error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], rand.Uint64())
	_, err := l.lock.WriteAt(b[:], stampAt)
	return l.closedOr(err)
}
