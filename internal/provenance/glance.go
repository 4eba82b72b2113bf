package provenance

import "encoding/binary"

// maxGlance is the longest text that one look decides about, in bytes: a power of two.
const maxGlance = 512

// What a look sees of a byte, above the byte to which it is folded.
const (
	sightCounts uint16 = 1 << (8 + iota) // a folded text has it
	sightBeyond                          // it is not ASCII
	sightNames                           // a digit or "@", without which few words name a place
	sightCode                            // the code of a character begins with it
	sightInWord                          // it separates no words
	sightMark                            // a mark that names a place unless it ends a word
)

// sights has what a look sees of each byte.
var sights = func() (all [256]uint16) {
	for c := range all {
		switch class := classes[c]; {
		case class == isRune:
			all[c] = sightBeyond
			continue
		case class == hasStop:
			all[c] = sightMark | sightInWord
		case class == hasDigit || class == hasAt:
			all[c] = sightNames | sightInWord
		case class != betweenWords:
			all[c] = sightInWord
		}
		if isCode(byte(c)) {
			all[c] |= sightCode
		}
		if folded := foldedASCII[c]; folded != 0 {
			all[c] |= sightCounts | uint16(folded)
		}
	}
	return all
}()

// A glance is what one look at a value says that it surely lacks.
type glance struct {
	text   bool // neither the whole of it nor a run of it is in the memory
	places bool // it names no place
	codes  bool // no character of it is written as a code
}

// glanceAt looks once at a value, which is a place or a free text. It is sure of nothing in
// one that is long or not ASCII.
func (s *search) glanceAt(value string, free bool) (lacks glance) {
	if s.flooded || s.past != nil || len(value) > maxGlance {
		return glance{}
	}
	if !free {
		var seen uint16
		for i := range len(value) {
			seen |= sights[value[i]]
		}
		return glance{codes: seen&(sightBeyond|sightCode) == 0}
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
		return glance{}
	}
	return glance{text: s.index.lacksPiece(few[:n]), places: seen&sightNames == 0, codes: seen&sightCode == 0}
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
