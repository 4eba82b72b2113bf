package recordlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/fsx"
)

// part is what one batch writes into one segment.
type part struct {
	seg *segment
	off int64
	// from and to are where it stands in the buffer.
	from, to int
}

// Append calls seal with the head of the newest record, under the lock of the
// log, and adds what seal returns. When it returns nil the records survive the
// death of the process. After an error none of them is kept.
func (l *Log) Append(ctx context.Context, seal func(audit.Head) ([]audit.Record, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.withLock(ctx, func() error { return l.appendSealed(seal) })
}

// TryAppend is [Log.Append] that waits for nothing: where another writes the log, or
// its segment is nearly full, it reports false and calls nothing.
func (l *Log) TryAppend(seal func(audit.Head) ([]audit.Record, error)) (tried bool, err error) {
	if !l.writing.TryLock() {
		return false, nil
	}
	defer l.writing.Unlock()
	if err := l.checkUsable(); err != nil {
		return true, err
	}
	if got, err := l.tryAcquireLock(); !got || err != nil {
		return err != nil, err
	}
	tried = true
	err = l.runLocked(func() error {
		if tried = l.hasUsualRoom(); !tried {
			return nil
		}
		return l.appendSealed(seal)
	})
	return tried, err
}

// hasUsualRoom reports whether what most records take needs no new segment.
func (l *Log) hasUsualRoom() bool {
	const usual = 64 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	size := l.tail.seg.size
	return l.tail.off > 0 && l.tail.off+min(usual, size/4) <= size
}

// appendSealed adds what seal returns. The caller holds the lock of the folder.
func (l *Log) appendSealed(seal func(audit.Head) ([]audit.Record, error)) error {
	l.mu.Lock()
	head := l.tail.head
	l.mu.Unlock()
	records, err := seal(head)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range records {
		if want := head.Seq + 1 + int64(i); records[i].Seq != want {
			return fmt.Errorf("recordlog: record %d does not follow record %d", records[i].Seq, want-1)
		}
	}
	return l.write(records)
}

// Import adds records of another store as they are, whatever is wrong with them:
// that is for a verification to find.
func (l *Log) Import(ctx context.Context, records []audit.Record) error {
	return l.withTail(ctx, func() error { return l.write(records) })
}

// batch is what an append writes: parts of the buffer, and the tail after it.
type batch struct {
	l    *Log
	tail tail
	b    []byte
}

// write adds records. Every segment that it needs is there before it writes the
// first byte.
func (l *Log) write(records []audit.Record) (err error) {
	if len(records) == 0 {
		return nil
	}
	w := batch{l: l, tail: l.tail, b: l.buf[:0]}
	l.parts = l.parts[:0]
	defer func() {
		if err != nil {
			l.releaseUnused(w.tail.seg)
		}
		if l.buf = w.b[:0]; cap(l.buf) > keepBuffer {
			l.buf = nil
		}
	}()
	w.beginPart()
	for i := range records {
		if err := w.addRecord(&records[i]); err != nil {
			return err
		}
	}
	w.b = append(w.b, make([]byte, frameEnd)...)
	w.endPart()
	if err := l.writeParts(w.b); err != nil {
		return err
	}
	if w.tail.seg != l.tail.seg {
		l.retire(l.tail.seg)
		for _, p := range l.parts[:len(l.parts)-1] {
			l.retire(p.seg)
		}
	}
	l.tail, l.unmarked = w.tail, true
	for i := range records {
		l.show(&records[i])
	}
	l.makeNextAhead()
	return nil
}

// releaseUnused closes the segments of a batch that was not written.
func (l *Log) releaseUnused(newest *segment) {
	for _, p := range l.parts {
		if p.seg != l.tail.seg {
			l.retire(p.seg)
		}
	}
	if newest != l.tail.seg {
		l.retire(newest)
	}
}

func (w *batch) beginPart() {
	w.l.parts = append(w.l.parts, part{seg: w.tail.seg, off: w.tail.off, from: len(w.b)})
	if w.tail.off == 0 {
		w.addStart()
	}
}

func (w *batch) endPart() { w.l.parts[len(w.l.parts)-1].to = len(w.b) }

func (w *batch) addStart() {
	// All before it is on the disk by the time that this is written.
	w.tail.crc, w.tail.synced = 0, w.tail.head.Seq
	w.addFrame(&frame{kind: frameStart, size: startSize, rec: audit.Record{
		Seq: w.tail.head.Seq, Hash: w.tail.head.Hash, Time: int64(w.tail.last), Body: w.l.id[:],
	}})
}

func (w *batch) addRecord(r *audit.Record) error {
	size, err := sizeOf(r)
	if err != nil {
		return err
	}
	if w.tail.off+int64(size)+segmentRest > w.tail.seg.size {
		next, err := w.l.prepareSegment(w.tail.seg.number+1, size)
		if err != nil {
			return err
		}
		w.addFrame(&frame{kind: frameNext, size: bareFrame, rec: audit.Record{Seq: w.tail.head.Seq, Hash: w.tail.head.Hash}})
		w.endPart()
		w.tail.seg, w.tail.off = next, 0
		w.beginPart()
	}
	at := placeAt(w.tail.seg.number, w.tail.off)
	w.addFrame(&frame{kind: frameRecord, size: size, rec: *r})
	w.tail.head, w.tail.last = r.Head(), at
	return nil
}

func (w *batch) addFrame(f *frame) {
	f.before, f.synced = w.tail.crc, w.tail.synced
	w.b, w.tail.crc = appendFrame(w.b, f)
	w.tail.off += int64(f.size)
}

// writeParts writes a batch. What is in a segment that is full is on the disk
// before the next one begins, so that Sync has one segment to look at.
func (l *Log) writeParts(b []byte) error {
	if l.parts[0].off == 0 {
		if err := l.syncBefore(l.parts[0].seg.number); err != nil {
			l.lost = err
			return err
		}
	}
	for i, p := range l.parts {
		write := l.fillSegment
		if i == len(l.parts)-1 {
			write = writePart
		}
		if err := write(p, b[p.from:p.to]); err != nil {
			return errors.Join(err, l.undo(i))
		}
	}
	return nil
}

func writePart(p part, b []byte) error {
	_, err := p.seg.file.WriteAt(b, p.off)
	return err
}

// fillSegment writes the last part of a segment. Its last frame leads to the next
// segment, and another process that follows it looks at this one no more. So all
// before that frame, and the name of the next segment, are on the disk before the
// frame can be read; its first word makes it one.
func (l *Log) fillSegment(p part, b []byte) error {
	next := len(b) - bareFrame
	word := [frameEnd]byte(b[next:])
	clear(b[next : next+frameEnd])
	if err := writePart(p, b); err != nil {
		return err
	}
	if l.o.filling != nil {
		l.o.filling()
	}
	err := errors.Join(fsx.SyncData(p.seg.file), fsx.SyncDir(l.dir))
	if err == nil {
		if _, err := p.seg.file.WriteAt(word[:], p.off+int64(next)); err != nil {
			return err
		}
		err = fsx.SyncData(p.seg.file)
	}
	if err != nil {
		l.lost = err
	}
	return err
}

// syncBefore brings the segment before the one of a number, and the name of that
// one, to the disk.
func (l *Log) syncBefore(number int64) error {
	before, err := l.openSegment(number - 1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was pruned, or this is the first
	}
	if err != nil {
		return err
	}
	return errors.Join(fsx.SyncData(before.file), fsx.SyncDir(l.dir), before.file.Close())
}

// undo takes back the parts of a batch up to a number. When that fails too,
// nothing is added any more.
func (l *Log) undo(last int) error {
	for i := last; i >= 0; i-- {
		p := l.parts[i]
		if err := fillZeros(p.seg.file, p.off, p.off+int64(p.to-p.from)); err != nil {
			l.lost = err
			return err
		}
	}
	return nil
}

// appendMark notes at the end of the log how much of it is on the disk.
func (l *Log) appendMark() error {
	t := l.tail
	if t.synced < t.head.Seq || t.off+bareFrame+segmentRest > t.seg.size || t.off == 0 {
		return nil // others have added records since, or there is no room
	}
	b, crc := appendFrame(nil, &frame{
		kind: frameMark, size: bareFrame, before: t.crc, synced: t.synced, rec: audit.Record{Seq: t.head.Seq, Hash: t.head.Hash},
	})
	b = append(b, make([]byte, frameEnd)...)
	if _, err := t.seg.file.WriteAt(b, t.off); err != nil {
		return errors.Join(err, fillZeros(t.seg.file, t.off, t.off+int64(len(b))))
	}
	l.tail.off, l.tail.crc, l.unmarked = t.off+bareFrame, crc, false
	return nil
}
