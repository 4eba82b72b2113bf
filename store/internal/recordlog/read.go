package recordlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/sallyport/sallyport/audit"
)

// ErrPruned ends a read that was overtaken.
var ErrPruned = errors.New("records were pruned while they were read: try again")

// View is a log as it was at a moment.
type View struct {
	// Checkpoint stands for what was pruned; its Seq is 0 when nothing was.
	Checkpoint audit.Record
	// First is where the first record stands.
	First Position
	// Head is the newest record's.
	Head audit.Head
	// Last is its place, 0 when that is not known.
	Last Position
	// End is behind it.
	End Position
	// Synced is the number up to which all records are on the disk.
	Synced int64
}

// Entry is a record and its place.
type Entry struct {
	audit.Record
	// At is where it stands.
	At Position
	// Next is where the reading goes on behind it.
	Next Position
}

// View returns what the log is now.
func (l *Log) View(ctx context.Context) (View, error) {
	b, err := readBase(l.dir)
	if err != nil {
		return View{}, l.closedOr(err)
	}
	if err := l.catchUp(ctx); err != nil {
		return View{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.viewTail(&b), nil
}

// viewTail returns the view up to the tail. The caller holds the mutex.
func (l *Log) viewTail(b *base) View {
	t := &l.tail
	v := View{Checkpoint: b.checkpoint(), First: b.First, Head: t.head, Last: t.last, End: placeAt(t.seg.number, t.off), Synced: t.synced}
	if v.Last < v.First {
		v.Last = 0
	}
	return v
}

func (l *Log) closedOr(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	return err
}

// Scan yields the records of a view from a place on, of which the first has the
// number seq when it is what was written. In the place of one that is damaged it
// yields a record that does not verify. It ends with ErrPruned when what it
// would read was pruned, and with store.ErrDamaged when another record than seq stands
// at the place.
func (l *Log) Scan(ctx context.Context, v *View, from Position, seq int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s := scan{l: l, v: v, at: from, want: seq, placed: from != v.First}
		defer s.close()
		for {
			e, ok, err := s.next()
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !ok || !yield(e, nil) {
				return
			}
		}
	}
}

// scan is the state of one reading.
type scan struct {
	l  *Log
	v  *View
	at Position
	// want is the number of the next record.
	want int64
	// placed is true for a scan that began at a noted place and has read no record yet.
	placed bool
	r      frameReader
}

func (s *scan) close() {
	if s.r.seg != nil {
		_ = s.r.seg.file.Close()
	}
}

// open makes a segment the one that is read, from an offset on.
func (s *scan) open(number, off int64) error {
	s.close()
	seg, err := s.l.openSegment(number)
	s.r = frameReader{seg: seg, off: off, buf: s.r.buf[:0:cap(s.r.buf)], at: off, ahead: s.r.ahead}
	return err
}

// next returns the next record; ok is false at the end.
func (s *scan) next() (e Entry, ok bool, err error) {
	for s.want <= s.v.Head.Seq && s.at < s.v.End {
		if s.r.seg == nil || s.r.seg.number != s.at.segment() {
			err := s.open(s.at.segment(), s.at.offset())
			if errors.Is(err, fs.ErrNotExist) {
				e, err := s.skipSegment()
				return e, err == nil, err
			}
			if err != nil {
				return e, false, err
			}
		}
		at := s.at
		f, state, err := s.r.next()
		if err != nil {
			return e, false, err
		}
		if state != frameGood {
			e, err := s.skipDamage()
			return e, err == nil, err
		}
		s.at = placeAt(at.segment(), s.r.off)
		switch f.kind {
		case frameNext:
			s.at = placeAt(at.segment()+1, 0)
		case frameRecord:
			if s.placed && f.rec.Seq != s.want {
				return e, false, damaged(fmt.Sprintf("record %d stands where record %d was noted", f.rec.Seq, s.want))
			}
			s.placed, s.want = false, f.rec.Seq+1
			f.rec.Body = bytes.Clone(f.rec.Body)
			return Entry{f.rec, at, s.at}, true, nil
		case frameStart, frameMark:
		}
	}
	if s.placed && s.want <= s.v.Head.Seq {
		return e, false, damaged(fmt.Sprintf("the record ends where record %d was noted", s.want))
	}
	return e, false, nil
}

// skipSegment goes on with the segment after one that is not there.
func (s *scan) skipSegment() (Entry, error) {
	if err := s.checkPruned(); err != nil {
		return Entry{}, err
	}
	s.r.seg = nil
	return s.standIn(s.at, placeAt(s.at.segment()+1, 0)), nil
}

// standIn returns what is yielded for a record that is damaged.
func (s *scan) standIn(at, next Position) Entry {
	e := Entry{audit.Record{Seq: s.want}, at, next}
	s.at, s.want, s.placed = next, s.want+1, false
	return e
}

// skipDamage moves behind what does not pass and returns what stands for it.
func (s *scan) skipDamage() (Entry, error) {
	if err := s.checkPruned(); err != nil {
		return Entry{}, err
	}
	at := s.at
	for {
		g, state, err := s.r.resync()
		switch {
		case err != nil:
			return Entry{}, err
		case state != frameGood:
			return s.standIn(at, placeAt(at.segment()+1, 0)), nil
		case g.rec.Seq >= s.want:
			s.r.off -= int64(g.size)
			return s.standIn(at, placeAt(at.segment(), s.r.off)), nil
		}
	}
}

// checkPruned returns ErrPruned when what is read is not there any more.
func (s *scan) checkPruned() error {
	b, err := readBase(s.l.dir)
	if err == nil && s.at < b.First {
		err = ErrPruned
	}
	return err
}

// Lookup reads single records. It is not safe for concurrent use.
type Lookup struct{ s scan }

// NewLookup returns what reads single records of a log until it is closed.
func (l *Log) NewLookup() *Lookup { return &Lookup{scan{l: l}} }

// Close releases the files.
func (k *Lookup) Close() { k.s.close() }

// Record returns the record at a place; it has the number seq when it is what was
// written, and verifies as nothing when it is not.
func (k *Lookup) Record(at Position, seq int64) (audit.Record, error) {
	s := &k.s
	s.at = at
	if s.r.seg == nil || s.r.seg.number != at.segment() {
		if err := s.open(at.segment(), at.offset()); errors.Is(err, fs.ErrNotExist) {
			s.r.seg = nil
			return audit.Record{Seq: seq}, s.checkPruned()
		} else if err != nil {
			return audit.Record{}, err
		}
	}
	s.r.off, s.r.ahead = at.offset(), lookAhead
	f, state, err := s.r.next()
	if err != nil {
		return audit.Record{}, err
	}
	if state != frameGood || f.kind != frameRecord || f.rec.Seq != seq {
		return audit.Record{Seq: seq}, s.checkPruned()
	}
	f.rec.Body = bytes.Clone(f.rec.Body)
	return f.rec, nil
}

// Scan gives the records of a view from a place on, where the one of number seq stands,
// up to the number last, or until give returns false. Give may keep a record.
func (k *Lookup) Scan(v *View, at Position, seq, last int64, give func(*Entry) bool) error {
	s := &k.s
	s.v, s.at, s.want, s.placed = v, at, seq, at != v.First
	if s.r.seg != nil && s.r.seg.number == at.segment() {
		s.r.off = at.offset()
	}
	s.r.ahead = scanAhead
	for s.want <= last {
		e, ok, err := s.next()
		if err != nil || !ok || e.Seq > last || !give(&e) {
			return err
		}
	}
	return nil
}

// lookAhead is how much a look at one record reads at once, in bytes; scanAhead that at
// a few.
const (
	lookAhead = 4 << 10
	scanAhead = 16 << 10
)
