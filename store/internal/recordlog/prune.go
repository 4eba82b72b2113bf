package recordlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// prunedWord begins a segment of which something was pruned. No frame begins so.
const prunedWord = 0x01

// finishPruning removes what a process that died had pruned, unless another one
// has done so.
func (l *Log) finishPruning() error {
	b, err := readBase(l.dir)
	if err != nil || b.Clean {
		return err
	}
	return l.clean(&b)
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
		err = syncData(s.file)
	}
	if err := errors.Join(err, s.file.Close()); err != nil {
		return err
	}
	b.Clean = true
	return writeBase(l.dir, b)
}
