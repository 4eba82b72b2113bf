package provenance

import (
	"slices"
	"strings"
)

// An Index finds folded texts within the folded texts that were added to it. The
// zero value is empty. It is not safe for concurrent use while a text is added.
type Index struct {
	corpus
	built strings.Builder // of which text is the content
}

// corpus is what an [Index] looks in. A copy stays as it is while texts are added to the
// index, if the index takes another filter: see [Index.keepFilter].
type corpus struct {
	text  string   // a line feed, which no folded text has, follows each
	words []uint64 // the filter: a power of two of them
}

// keepFilter has the index leave its filter to the copies of it.
func (x *Index) keepFilter() { x.words = slices.Clone(x.words) }

// gramSize and shortGram are the lengths of the pieces that the filter knows, in
// bytes: that of the shortest value and that of the shortest place.
const (
	gramSize  = minValue
	shortGram = minPlace
)

const (
	// filterBits is how many bits the filter has at least for each byte of text: a
	// piece that is not in the text then seems to be in one case of ten, a short one
	// in one of three.
	filterBits = 8
	// leastWords is the size of the smallest filter, in words of 64 bits.
	leastWords = 64
)

// Add adds a folded text.
func (x *Index) Add(folded string) {
	if folded == "" {
		return
	}
	from := len(x.text)
	x.built.WriteString(folded)
	x.built.WriteByte('\n')
	x.text = x.built.String()
	words := max(len(x.words), leastWords)
	for words*64 < len(x.text)*filterBits {
		words *= 2
	}
	if words != len(x.words) {
		x.words, from = make([]uint64, words), 0
	}
	text := x.text
	for i := from; i+shortGram <= len(text); i++ {
		short := x.bitOf(shortGramAt(text, i))
		x.words[short/64] |= 1 << (short % 64)
		if i+gramSize <= len(text) {
			first, second := x.bitsOf(gramAt(text, i))
			x.words[first/64] |= 1 << (first % 64)
			x.words[second/64] |= 1 << (second % 64)
		}
	}
}

// Contains reports whether a folded text is within one that was added.
func (x *corpus) Contains(folded string) bool {
	return x.mayContain(folded) && strings.Contains(x.text, folded)
}

// Bytes returns how much the index takes, in bytes.
func (x *Index) Bytes() int { return x.built.Cap() + 8*len(x.words) }

// bitsOf returns the two bits of a gram.
func (x *corpus) bitsOf(gram uint64) (first, second uint64) {
	h := gram * 0x9e3779b97f4a7c15 // the golden ratio, as splitmix64 has it
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	mask := uint64(len(x.words)*64 - 1)
	return (h >> 7) & mask, (h >> 35) & mask
}

// bitOf returns the bit of a short gram.
func (x *corpus) bitOf(short uint32) uint64 {
	first, _ := x.bitsOf(uint64(short))
	return first
}

// mayContain reports whether the filter knows every gram of a folded text.
func (x *corpus) mayContain(folded string) bool {
	if len(x.words) == 0 {
		return false
	}
	if len(folded) < gramSize {
		return x.mayContainShort(folded)
	}
	for i := 0; i+gramSize <= len(folded); i++ {
		if !x.mayContainGram(folded, i) {
			return false
		}
	}
	return true
}

func (x *corpus) mayContainShort(folded string) bool {
	for i := 0; i+shortGram <= len(folded); i++ {
		bit := x.bitOf(shortGramAt(folded, i))
		if x.words[bit/64]>>(bit%64)&1 == 0 {
			return false
		}
	}
	return true
}

func (x *corpus) mayContainGram(folded string, at int) bool {
	return x.mayHaveGram(gramAt(folded, at))
}

// mayHaveGram reports whether the filter knows a gram.
func (x *corpus) mayHaveGram(gram uint64) bool {
	if len(x.words) == 0 {
		return false
	}
	first, second := x.bitsOf(gram)
	return x.words[first/64]>>(first%64)&1 == 1 && x.words[second/64]>>(second%64)&1 == 1
}

// gramAt returns the eight bytes at a place.
func gramAt(s string, i int) uint64 {
	return uint64(shortGramAt(s, i)) | uint64(shortGramAt(s, i+shortGram))<<32
}

// shortGramAt returns the four bytes at a place.
func shortGramAt(s string, i int) uint32 {
	b := s[i : i+shortGram]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
