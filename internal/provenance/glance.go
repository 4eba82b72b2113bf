package provenance

import (
	"encoding/binary"
	"unicode/utf8"
)

// maxGlance is the longest text that one look decides about, in bytes: a power of two.
const maxGlance = 512

// What a look sees of a byte, above the byte to which it is folded.
const (
	sightCounts uint16 = 1 << (8 + iota) // a folded text has it
	sightBeyond                          // it is not ASCII
	sightNames                           // a digit or "@", without which few words name a place
	sightInWord                          // it separates no words
	sightMark                            // a mark that names a place unless it ends a word
)

// sights has what a look sees of each byte.
var sights = func() (all [256]uint16) {
	for c := range all {
		switch class := classes[c]; {
		case c >= utf8.RuneSelf:
			all[c] = sightBeyond
			continue
		case class == ofEntity && (c == '.' || c == ':'):
			all[c] = sightMark | sightInWord
		case class == ofEntity:
			all[c] = sightNames | sightInWord
		case class != betweenWords:
			all[c] = sightInWord
		}
		if folded := foldedASCII[c]; folded != 0 {
			all[c] |= sightCounts | uint16(folded)
		}
	}
	return all
}()

// glanceAt looks once at a text that is no place, and says what it surely lacks of the memory:
// lacksText that neither the whole of it nor a run is there, lacksPlaces that it names no
// place. It is sure of nothing in a text that is long or not ASCII.
func (s *search) glanceAt(value string) (lacksText, lacksPlaces bool) {
	if s.flooded || s.past != nil || len(value) > maxGlance {
		return false, false
	}
	var few [maxGlance]byte
	var seen, before uint16
	n := 0
	for i := range len(value) {
		sight := sights[value[i]]
		few[n&(maxGlance-1)] = byte(sight)
		n += int(sight / sightCounts & 1)
		seen |= sight | before/sightMark*sightNames&(sight/sightInWord*sightNames)
		before = sight
	}
	if seen&sightBeyond != 0 {
		return false, false
	}
	return s.index.lacksPiece(few[:n]), seen&sightNames == 0
}

// lacksPiece reports whether neither the whole of a folded text nor a run of it is in the index,
// as far as the filter can tell.
func (x *Index) lacksPiece(folded []byte) bool {
	if len(folded) >= runLength {
		for at := 0; at+gramSize <= len(folded); at += runStep {
			if x.mayHaveGram(binary.LittleEndian.Uint64(folded[at:])) {
				return false
			}
		}
		return true // the whole has the first of these grams
	}
	for at := 0; at+gramSize <= len(folded); at++ {
		if !x.mayHaveGram(binary.LittleEndian.Uint64(folded[at:])) {
			return true
		}
	}
	return len(folded) < minValue
}
