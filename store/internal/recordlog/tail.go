package recordlog

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"

	"github.com/sallyport/sallyport/audit"
)

// tail is what is known of the end of the log.
type tail struct {
	seg *segment
	// off is where the next frame goes.
	off int64
	// crc is that of the frame before it.
	crc uint32
	// head is the newest record's, last its place; 0 when none is left.
	head audit.Head
	last Position
	// synced is the number up to which all records are on the disk.
	synced int64
}

// errUnsettled ends a look at the end of the log without its lock: what stands
// there is being written, or does not pass.
var errUnsettled = errors.New("the end of the log is being written")

// findTail looks for the end of the log: in the newest segment in use, or from
// the hint on.
func (l *Log) findTail(b *base, hint Position, locked bool) error {
	numbers, err := listSegments(l.dir)
	if err != nil {
		return err
	}
	c := b.checkpoint()
	l.tail = tail{head: c.Head(), synced: c.Seq}
	from := b.First
	for i := len(numbers) - 1; i >= 0 && numbers[i] > b.First.segment(); i-- {
		if begun, err := l.isBegun(numbers[i]); err != nil {
			return err
		} else if begun {
			from = placeAt(numbers[i], 0)
			break
		}
	}
	if hint > from && l.isFrame(hint) {
		from = hint
	}
	if l.tail.seg, err = l.openSegment(from.segment()); err != nil {
		return missingIsDamage(err)
	}
	l.tail.off = from.offset()
	return l.followFrames(locked)
}

// findTailLocked looks for the end of the log with the lock of the folder, so
// that the base does not change.
func (l *Log) findTailLocked(hint Position) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.acquireLock(context.Background()); err != nil {
		return err
	}
	defer l.releaseLock()
	b, err := readBase(l.dir)
	if err != nil {
		return err
	}
	return l.findTail(&b, hint, true)
}

func missingIsDamage(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return damaged("a segment of its record is not there")
	}
	return err
}

// isBegun reports whether a segment begins with a start that passes.
func (l *Log) isBegun(number int64) (bool, error) {
	s, err := l.openSegment(number)
	if err != nil {
		return false, err
	}
	defer s.file.Close()
	r := frameReader{seg: s}
	f, state, err := r.next()
	return state == frameGood && f.kind == frameStart, err
}

// isFrame reports whether a record's frame that passes begins at a place.
func (l *Log) isFrame(at Position) bool {
	s, err := l.openSegment(at.segment())
	if err != nil {
		return false
	}
	defer s.file.Close()
	r := frameReader{seg: s, off: at.offset()}
	f, state, err := r.next()
	return err == nil && state == frameGood && f.kind == frameRecord
}

// catchUp moves the tail over what other processes have added. It takes the lock
// of the folder when that is needed.
func (l *Log) catchUp(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return errClosed
	}
	var err error
	if !l.keep.kept.Load() {
		err = l.follow(false)
	}
	l.mu.Unlock()
	if !errors.Is(err, errUnsettled) {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.acquireLock(ctx); err != nil {
		return err
	}
	return l.runLocked(func() error { return nil })
}

// follow moves the tail over what other processes have added. With the lock of
// the folder it also settles what does not pass; without it, it stops there.
func (l *Log) follow(locked bool) error {
	defer l.checkSight()
	var around [frameEnd + frameEnd]byte
	t := &l.tail
	before := min(t.off, frameEnd)
	look := around[frameEnd-before:]
	if _, err := t.seg.file.ReadAt(look, t.off-before); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	le := binary.LittleEndian
	switch {
	case before > 0 && le.Uint32(around[frameEnd-frameFoot:]) != footWord:
		return l.findAgain(locked)
	case le.Uint64(around[frameEnd:]) == 0:
		return nil
	}
	return l.followFrames(locked)
}

// findAgain looks for the end of the log when it is not where it was: what stood
// there was pruned.
func (l *Log) findAgain(locked bool) error {
	if !locked {
		return errUnsettled
	}
	b, err := readBase(l.dir)
	if err != nil {
		return err
	}
	was := l.tail
	if err := l.findTail(&b, 0, true); err != nil {
		l.retire(l.tail.seg)
		l.tail = was
		return err
	}
	now := l.tail.head
	if now.Seq < was.synced || now.Seq == was.synced && was.head.Seq == was.synced && now.Hash != was.head.Hash {
		l.retire(was.seg)
		l.lost = damaged("records that were on the disk are gone")
		return l.lost
	}
	l.tail.synced = max(l.tail.synced, min(was.synced, now.Seq))
	l.retire(was.seg)
	return nil
}

// isPruned reports whether the log begins behind the tail.
func (l *Log) isPruned() bool {
	b, err := readBase(l.dir)
	return err == nil && b.First > placeAt(l.tail.seg.number, l.tail.off)
}

func (l *Log) followFrames(locked bool) error {
	t := &l.tail
	r := frameReader{seg: t.seg, off: t.off}
	for {
		f, state, err := r.next()
		switch {
		case err != nil:
			return err
		case state == frameNone:
			return nil
		case state == frameGood && (f.before == t.crc || t.crc == 0 || f.kind == frameStart):
			err = l.passFrame(&f)
		case !locked:
			return errUnsettled
		case l.isPruned():
			return l.findAgain(true)
		default:
			var found bool
			if found, err = l.passDamage(&r); err == nil && !found {
				return nil
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && !locked:
			return errUnsettled
		case errors.Is(err, fs.ErrNotExist) && l.isPruned():
			return l.findAgain(true)
		case err != nil:
			return missingIsDamage(err)
		}
		if r.seg != t.seg || r.off != t.off {
			r = frameReader{seg: t.seg, off: t.off}
		}
	}
}

// passFrame moves the tail over a frame.
func (l *Log) passFrame(f *frame) error {
	t := &l.tail
	at := placeAt(t.seg.number, t.off)
	if f.kind == frameNext {
		next, err := l.openSegment(t.seg.number + 1)
		if err == nil {
			l.moveTo(next)
		}
		return err
	}
	t.off += int64(f.size)
	t.crc = f.crc
	t.synced = max(t.synced, min(f.synced, f.rec.Seq))
	if f.kind == frameStart && string(f.rec.Body) != string(l.id[:]) {
		return damaged("a segment belongs to another record")
	}
	switch {
	case f.kind == frameRecord:
		t.head, t.last = f.rec.Head(), at
		l.show(&f.rec)
	case f.kind == frameStart:
		t.head, t.last = f.rec.Head(), Position(f.rec.Time)
	case f.rec.Seq > t.head.Seq: // a mark behind damage
		t.head, t.last = f.rec.Head(), 0
	}
	return nil
}

// moveTo makes a segment the one in which the log goes on.
func (l *Log) moveTo(next *segment) {
	l.retire(l.tail.seg)
	l.tail.seg, l.tail.off, l.tail.crc = next, 0, 0
}

// passDamage looks behind a frame that does not pass for one that says that the
// first was on the disk, and moves the tail behind the damage. Found is false when
// there is none: the log ends before the frame.
func (l *Log) passDamage(r *frameReader) (found bool, err error) {
	t := &l.tail
	lost, good := t.head.Seq+1, int64(-1)
	for !found {
		f, state, err := r.resync()
		if err != nil {
			return false, err
		}
		if state != frameGood {
			break
		}
		if good < 0 {
			good = r.off - int64(f.size)
		}
		found = f.synced >= lost
	}
	next, err := l.nextSynced(lost)
	switch {
	case err != nil:
		return false, err
	case (found || next != nil) && good >= 0:
		t.off, t.crc, found = good, 0, true
		if next != nil {
			_ = next.file.Close()
		}
	case next != nil:
		l.moveTo(next)
		found = true
	}
	return found, nil
}

// nextSynced returns the segment after the one of the tail when its start says
// that a record was on the disk, nil when it does not.
func (l *Log) nextSynced(seq int64) (*segment, error) {
	next, err := l.openSegment(l.tail.seg.number + 1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := frameReader{seg: next}
	f, state, err := r.next()
	if err != nil || state != frameGood || f.kind != frameStart || f.synced < seq {
		return nil, errors.Join(err, next.file.Close())
	}
	return next, nil
}
