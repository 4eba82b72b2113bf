package output

import (
	"math"
	"math/bits"
)

// placeSet is a set of places in a text.
type placeSet []uint64

func (s placeSet) add(i int) { s[i/64] |= 1 << (i % 64) }

// containsAny reports whether any place from first on and before end is in the
// set.
func (s placeSet) containsAny(first, end int) bool {
	return s[:(end+63)/64].nextFrom(first) < end
}

// nextFrom returns the first place at or behind i, a large number when there
// is none.
func (s placeSet) nextFrom(i int) int {
	for w := i / 64; w < len(s); w++ {
		word := s[w]
		if w == i/64 {
			word &= math.MaxUint64 << (i % 64)
		}
		if word != 0 {
			return 64*w + bits.TrailingZeros64(word)
		}
	}
	return math.MaxInt
}

