package recordlog

import (
	"encoding/binary"
	"errors"
	"io"
)

// frameState is what stands at a place.
type frameState int

const (
	// frameNone: the log ends here.
	frameNone frameState = iota
	// frameGood is a frame that passes.
	frameGood
	// frameBad is something else.
	frameBad
)

// readAhead is how much is read of a segment at once, in bytes.
const readAhead = 64 << 10

// frameReader reads the frames of a segment one after the other. The frames that
// it returns are good until the next call.
type frameReader struct {
	seg *segment
	// off is where the next frame begins.
	off int64
	// buf is what was read of the segment from at on.
	buf []byte
	at  int64
	// ahead is how much is read at once; 0 means readAhead.
	ahead int
}

// next reads the frame at the place and moves behind it; it does not move over
// what is no frame that passes.
func (r *frameReader) next() (f frame, state frameState, err error) {
	head, err := r.read(frameHead)
	switch {
	case err != nil:
		return f, frameBad, err
	case len(head) < frameEnd || binary.LittleEndian.Uint64(head) == 0:
		return f, frameNone, nil
	case len(head) < frameHead:
		return f, frameBad, nil
	}
	size := wordSize(head)
	if size == 0 {
		return f, frameBad, nil
	}
	b, err := r.read(size)
	if err != nil || len(b) < size {
		return f, frameBad, err
	}
	f, ok := parseFrame(b)
	if !ok {
		return f, frameBad, nil
	}
	r.off += int64(size)
	return f, frameGood, nil
}

// resync moves to the first frame that passes from the place on, and over it.
func (r *frameReader) resync() (f frame, state frameState, err error) {
	for ; r.off+frameHead <= r.seg.size; r.off += frameAlign {
		word, err := r.read(frameEnd)
		if err != nil {
			return f, frameBad, err
		}
		if len(word) < frameEnd {
			break
		}
		if wordSize(word) == 0 {
			continue
		}
		if f, state, err = r.next(); err != nil || state == frameGood {
			return f, state, err
		}
	}
	return frame{}, frameNone, nil
}

// read returns n bytes from the place on, or fewer at the end of the segment.
func (r *frameReader) read(n int) ([]byte, error) {
	from := r.off - r.at
	if r.buf == nil || from < 0 || from+int64(n) > int64(len(r.buf)) {
		if r.ahead == 0 {
			r.ahead = readAhead
		}
		want := max(n, r.ahead)
		if cap(r.buf) < want {
			r.buf = make([]byte, want)
		}
		got, err := r.seg.file.ReadAt(r.buf[:want], r.off)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		r.buf, r.at, from = r.buf[:got], r.off, 0
	}
	return r.buf[from:min(from+int64(n), int64(len(r.buf)))], nil
}
