package recordlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport/store"
)

const (
	// firstSegment is the size of the first segment, in bytes: a state that is
	// hardly used takes little room. Each is twice as large as the one before.
	firstSegment = 256 << 10
	// largestSegment bounds that. Filling it takes the disk a few hundredths of
	// a second, and finding the end of the log in it a few milliseconds.
	largestSegment = 8 << 20
	// startSize is the size of the first frame of a segment, and segmentRest what
	// each leaves for its last and for what stands behind that.
	startSize   = bareFrame + idSize
	segmentRest = bareFrame + frameEnd
	// spareName begins the name of a segment that has no number yet.
	spareName = ".spare-"
	// spareAge is how old such a file is when its process is surely gone.
	spareAge = time.Minute
)

// segment is an open segment.
type segment struct {
	number int64
	size   int64
	file   *os.File
	// users counts the syncs under way; retired closes the file after them.
	// The mutex of the log guards both.
	users   int
	retired bool
}

func segmentName(number int64) string { return fmt.Sprintf("%08d", number) }

// sizeOfSegment returns the size that a segment is made with.
func (l *Log) sizeOfSegment(number int64) int64 {
	return min(l.o.first<<min(number-1, 32), max(l.o.first, l.o.largest))
}

// openSegment opens a segment.
func (l *Log) openSegment(number int64) (*segment, error) {
	f, err := os.OpenFile(filepath.Join(l.dir, segmentName(number)), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &segment{number: number, size: info.Size(), file: f}, nil
}

// listSegments returns the numbers of the segments, ascending.
func listSegments(dir string) ([]int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var numbers []int64
	for _, e := range entries {
		n, err := strconv.ParseInt(e.Name(), 10, 32)
		if err == nil && n > 0 && segmentName(n) == e.Name() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// makeSpare makes a file of zeros that is on the disk and has no number yet.
func (l *Log) makeSpare(size int64) (path string, err error) {
	if err := l.checkRoom(size); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(l.dir, spareName+"*")
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err = fillZeros(f, 0, size); err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}

// checkRoom refuses a segment beyond the bound of the log.
func (l *Log) checkRoom(size int64) error {
	if l.o.MaxBytes == 0 {
		return nil
	}
	numbers, err := listSegments(l.dir)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if info, err := os.Stat(filepath.Join(l.dir, segmentName(n))); err == nil {
			size += info.Size()
		}
	}
	if size > l.o.MaxBytes {
		return &store.Error{Reason: store.ErrFull}
	}
	return nil
}

// placeSpare gives a spare file its number, under the lock of the log.
func (l *Log) placeSpare(path string, number int64) error {
	if err := os.Rename(path, filepath.Join(l.dir, segmentName(number))); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// prepareSegment returns the segment of a number, with room for a frame of some
// size; it makes it when it was not made before its time. The caller has the lock.
func (l *Log) prepareSegment(number int64, frame int) (*segment, error) {
	need := startSize + int64(frame) + segmentRest
	s, err := l.openSegment(number)
	if errors.Is(err, fs.ErrNotExist) {
		// It may be under way, and take the room that this one would need.
		l.making.Wait()
		s, err = l.openSegment(number)
	}
	if errors.Is(err, fs.ErrNotExist) {
		path, failed := l.makeSpare(max(l.sizeOfSegment(number), need))
		if failed != nil {
			// There may be room for less.
			if path, failed = l.makeSpare(max(l.o.first, need)); failed != nil {
				return nil, failed
			}
		}
		if err := l.placeSpare(path, number); err != nil {
			return nil, err
		}
		s, err = l.openSegment(number)
	}
	if err != nil {
		return nil, err
	}
	if s.size >= need {
		return s, nil
	}
	// It is not in use yet: the log goes on in it with this frame.
	if err = l.checkRoom(need - s.size); err == nil {
		err = fillZeros(s.file, s.size, need)
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	s.size = need
	return s, nil
}

// makeNextAhead makes the segment after the present one in the background, when
// more than half of that is used. The caller holds the mutex.
func (l *Log) makeNextAhead() {
	t := &l.tail
	if t.off <= t.seg.size/2 || l.ahead >= t.seg.number+1 || l.closed {
		return
	}
	number := t.seg.number + 1
	l.ahead = number
	l.making.Go(func() {
		// What fails here fails again where it is needed, and is told there.
		final := filepath.Join(l.dir, segmentName(number))
		if _, err := os.Stat(final); !errors.Is(err, fs.ErrNotExist) {
			return
		}
		l.removeOldSpares()
		path, err := l.makeSpare(l.sizeOfSegment(number))
		if err != nil {
			return
		}
		// Of several processes, one gives its file the name.
		_ = os.Link(path, final)
		_ = os.Remove(path)
	})
}

// removeOldSpares removes what killed processes left.
func (l *Log) removeOldSpares() {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), spareName) && time.Since(info.ModTime()) > spareAge {
			_ = os.Remove(filepath.Join(l.dir, e.Name()))
		}
	}
}

// fillZeros writes zeros from one place in a file to another.
func fillZeros(f *os.File, from, to int64) error {
	zeros := make([]byte, min(max(to-from, 0), 1<<20))
	for from < to {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), to-from)], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}
