package recordlog

import (
	"errors"
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

func missingIsDamage(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return damaged("a segment of its record is not there")
	}
	return err
}

// isPruned reports whether the log begins behind the tail.
func (l *Log) isPruned() bool {
	b, err := readBase(l.dir)
	return err == nil && b.First > placeAt(l.tail.seg.number, l.tail.off)
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
