package recordlog

import (
	"github.com/sallyport/sallyport/audit"
)

// part is what one batch writes into one segment.
type part struct {
	seg *segment
	off int64
	// from and to are where it stands in the buffer.
	from, to int
}

// batch is what an append writes: parts of the buffer, and the tail after it.
type batch struct {
	l    *Log
	tail tail
	b    []byte
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

