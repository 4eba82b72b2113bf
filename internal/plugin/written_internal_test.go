package plugin

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

// TestNumbersAreWrittenInTheirShortestForm: what the runtime gets has no bytes that it may
// take for something else than the reader did.
func TestNumbersAreWrittenInTheirShortestForm(t *testing.T) {
	t.Parallel()
	// pad makes a number as long as it may be.
	pad := func(short []byte, longest int) []byte {
		fill := byte(0)
		if last := short[len(short)-1]; last&0x40 != 0 {
			fill = 0x7f
		}
		long := bytes.Clone(short)
		for len(long) < longest {
			long[len(long)-1] |= 0x80
			long = append(long, fill)
		}
		return long
	}
	for _, n := range []int64{0, 1, -1, 63, 64, -64, -65, 127, 128, 300, -300, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
		short := appendSigned(nil, n)
		for longest := len(short); longest <= longest64; longest++ {
			r := moduleReader{rest: append(pad(short, longest), 0x0b), writes: true}
			if got := r.readSigned(longest64); got != n || r.err != nil || !bytes.Equal(r.takeWritten(), short) || len(r.rest) != 1 {
				t.Errorf("%d in %d bytes: %d, %v, %d left", n, longest, got, r.err, len(r.rest))
			}
		}
		if n < 0 || n > math.MaxUint32 {
			continue
		}
		plain := binary.AppendUvarint(nil, uint64(n))
		for longest := len(plain); longest <= longest32; longest++ {
			long := bytes.Clone(plain)
			for len(long) < longest {
				long[len(long)-1] |= 0x80
				long = append(long, 0)
			}
			r := moduleReader{rest: append(long, 0x0b), writes: true}
			if got := r.readCount(math.MaxUint32); got != int(n) || r.err != nil || !bytes.Equal(r.takeWritten(), plain) || len(r.rest) != 1 {
				t.Errorf("count %d in %d bytes: %d, %v, %d left", n, longest, got, r.err, len(r.rest))
			}
		}
	}
}
