package recordlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/audit"

	"github.com/sallyport/sallyport/internal/fsx"
)

// prunedWord begins a segment of which something was pruned. No frame begins so.
const prunedWord = 0x01

// Prune replaces every record up to and including checkpoint.Seq by the
// checkpoint. Hint is where that record stands, or 0. It fails and changes nothing
// when the record of that number has another hash. What was pruned is gone from
// the files when it returns, and on the disk the chain is whole at each moment.
func (l *Log) Prune(ctx context.Context, checkpoint *audit.Record, hint Position) error {
	return l.withTail(ctx, func() error {
		b, err := readBase(l.dir)
		if err != nil {
			return err
		}
		first, err := l.behind(ctx, &b, checkpoint.Head(), hint)
		if err != nil {
			return err
		}
		b.First, b.Clean = first, false
		b.setCheckpoint(checkpoint)
		// The end of the log must not be before its beginning after a loss of
		// power.
		if err := fsx.SyncData(l.tail.seg.file); err != nil {
			l.lost = err
			return err
		}
		if err := writeBase(l.dir, &b); err != nil {
			return err
		}
		return l.clean(&b)
	})
}

// finishPruning removes what a process that died had pruned, unless another one
// has done so.
func (l *Log) finishPruning() error {
	b, err := readBase(l.dir)
	if err != nil || b.Clean {
		return err
	}
	return l.clean(&b)
}

// behind returns the place behind a record.
func (l *Log) behind(ctx context.Context, b *base, head audit.Head, hint Position) (Position, error) {
	if c := b.checkpoint(); c.Head() == head && c.Seq > 0 {
		return b.First, nil
	}
	t := &l.tail
	v := View{First: b.First, Head: t.head, End: placeAt(t.seg.number, t.off)}
	from, seq := b.First, b.checkpoint().Seq+1
	if hint >= b.First && l.isFrame(hint) {
		from, seq = hint, head.Seq
	}
	for e, err := range l.Scan(ctx, &v, from, seq) {
		if err != nil {
			return 0, err
		}
		if e.Head() == head {
			return e.Next, nil
		}
		if e.Seq >= head.Seq {
			break
		}
	}
	return 0, fmt.Errorf("recordlog: record %d is not the one to cut at", head.Seq)
}

// clean removes what stands before the beginning of the log.
func (l *Log) clean(b *base) error {
	numbers, err := listSegments(l.dir)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n >= b.First.segment() {
			break
		}
		if err := os.Remove(filepath.Join(l.dir, segmentName(n))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	s, err := l.openSegment(b.First.segment())
	if err != nil {
		return err
	}
	// A writer whose end of the log was in what is gone has to see it, see follow.
	err = fillZeros(s.file, frameEnd, b.First.offset())
	if err == nil && b.First.offset() > 0 {
		_, err = s.file.WriteAt([]byte{0: prunedWord, frameEnd - 1: 0}, 0)
	}
	if err == nil {
		err = fsx.SyncData(s.file)
	}
	if err := errors.Join(err, s.file.Close()); err != nil {
		return err
	}
	b.Clean = true
	return writeBase(l.dir, b)
}
