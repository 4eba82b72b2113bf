package output

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// The register holds the last ten symbols of a text, six bits each, the
// newest lowest. Blanks, controls and hidden characters are no symbols, so a
// text that they split runs through the register as if it were whole. Case is
// folded, and so are the two characters in which the base64 alphabets of RFC
// 4648 differ. An anchor is a run of three to ten symbols; the lowest three
// select it.
const (
	symbolBits = 6
	window     = 10
	keySymbols = 3
	keyMask    = 1<<(keySymbols*symbolBits) - 1
)

// symbol is what one byte does to the register: the low byte is the symbol,
// the high byte the shift, 0 for a byte that is skipped.
type symbol uint16

const shifted symbol = symbolBits << 8

// symbols maps ASCII.
var symbols = func() (t [256]symbol) {
	for i := range symbol(26) {
		t['a'+i], t['A'+i] = shifted|(1+i), shifted|(1+i)
	}
	for i := range symbol(10) {
		t['0'+i] = shifted | (27 + i)
	}
	for i, set := range [...]string{
		"_/", "-+", "=", ":", ".", "<", ">", "|", "[", "]", "%", `\`, `"`, "'",
		"&", "@", "!", "?", "#", "$", "*", "()", "{}", ",", ";", "~^", "`",
	} {
		for _, b := range []byte(set) {
			t[b] = shifted | symbol(37+i)
		}
	}
	return t
}()

// wideSymbol returns the symbol of a character beyond ASCII: that of the
// ASCII character it looks like, none for blank and hidden ones, and a spread
// over all symbols for the rest.
func wideSymbol(r rune, c runeClass) symbol {
	switch {
	case c&(hidden|blank) != 0:
		return 0
	case c&alike != 0:
		return symbols[lookalikeASCII(r)]
	default:
		return spreadSymbol(r)
	}
}

// spreadSymbol spreads characters over all symbols by Fibonacci hashing: the
// multiplier is 2^32 over the golden ratio.
func spreadSymbol(r rune) symbol {
	return shifted | symbol(1+uint32(r)*0x9E3779B9>>26%63)
}

// symbolTable maps the characters of the basic plane. Those of ASCII and of
// higher planes are not in it.
type symbolTable [1 << 16]symbol

// wideSymbols returns the table, built on first use.
var wideSymbols = sync.OnceValue(func() *symbolTable {
	t, classes := new(symbolTable), basicPlane()
	for r := range t {
		t[r] = wideSymbol(rune(r), classes.classOf(rune(r)))
	}
	return t
})

// anchorRule says what to do where an anchor is found.
type anchorRule uint8

const (
	ruleForm anchorRule = iota
	ruleFormat
	ruleName
	ruleURL
	ruleBearer
	ruleBasic
	rulePEM
	ruleJWT
	ruleNetrc
	ruleTag
	ruleBracket
	ruleChatMarker
	ruleLiteral
	rules
)

// symbolPair is what two bytes of ASCII do to the register.
type symbolPair struct {
	codes uint16
	shift uint8
}

// symbolPairs maps two bytes of ASCII, the first lowest.
var symbolPairs = sync.OnceValue(func() *[1 << 15]symbolPair {
	t := new([1 << 15]symbolPair)
	for i := range t {
		a, b := symbols[i&0xFF], symbols[i>>8]
		t[i] = symbolPair{uint16(a&63)<<(b>>8) | uint16(b&63), uint8(a>>8 + b>>8)}
	}
	return t
})

// anchor is a run of symbols to look for.
type anchor struct {
	code, mask uint64
	rule       anchorRule
	// size is the number of symbols.
	size uint8
	// arg is the shape of the form, or the index of the format, name or literal.
	arg int32
}

// anchorPlace is an anchor as the register has it, whole or, when isAhead is
// true, without its last symbol.
type anchorPlace struct {
	anchor
	isAhead bool
}

// anchorIndex finds anchors by their last three symbols and by the three in front
// of the last one, so that a look behind every second symbol finds all. A bit
// says whether there is any, the rank of the bit is the number of the bucket.
type anchorIndex struct {
	bits   [(keyMask + 1) / 64]uint64
	rank   [(keyMask + 1) / 64]uint32
	first  []uint32
	places []anchorPlace
}

// newIndex builds an index of the anchors in all lists. In a bucket, they stay in
// order.
func newIndex(lists ...[]anchor) *anchorIndex {
	x := new(anchorIndex)
	for _, list := range lists {
		for i := range list {
			list[i].eachKey(func(key uint64, _ bool) { x.bits[key/64] |= 1 << (key % 64) })
		}
	}
	n := uint32(0)
	for i, w := range x.bits {
		x.rank[i] = n
		n += uint32(bits.OnesCount64(w))
	}
	// The number of a bucket is counted two places behind it, so that its end is
	// its beginning when the places have been filled.
	x.first = make([]uint32, n+2)
	for _, list := range lists {
		for i := range list {
			list[i].eachKey(func(key uint64, _ bool) { x.first[x.bucketOf(key)+2]++ })
		}
	}
	for i := 2; i < len(x.first); i++ {
		x.first[i] += x.first[i-1]
	}
	x.places = make([]anchorPlace, x.first[n+1])
	for _, list := range lists {
		for i := range list {
			list[i].eachKey(func(key uint64, isAhead bool) {
				next := &x.first[x.bucketOf(key)+1]
				x.places[*next] = anchorPlace{list[i], isAhead}
				*next++
			})
		}
	}
	return x
}

// eachKey calls add with the keys that the register has behind the last symbol and
// in front of it. A place at which any symbol may stand makes one for each.
func (a *anchor) eachKey(add func(key uint64, isAhead bool)) {
	for _, isAhead := range [...]bool{false, true} {
		code, mask := a.code, a.mask
		if isAhead {
			code, mask = code>>symbolBits, mask>>symbolBits
		}
		for rest := uint64(0); ; {
			add((code|rest)&keyMask, isAhead)
			// Count in the bits that the mask leaves open.
			if rest = ((rest | mask) + 1) & keyMask &^ mask; rest == 0 {
				break
			}
		}
	}
}

// holdsKey reports whether anything has the lowest three symbols of a register.
func (x *anchorIndex) holdsKey(v uint64) bool {
	key := v & keyMask
	return x.bits[key/64]>>(key%64)&1 != 0
}

// bucketOf returns the number of the bucket of a key whose bit is set.
func (x *anchorIndex) bucketOf(key uint64) uint32 {
	below := x.bits[key/64] & (1<<(key%64) - 1)
	return x.rank[key/64] + uint32(bits.OnesCount64(below))
}

// placesOf returns what has a key whose bit is set.
func (x *anchorIndex) placesOf(key uint64) []anchorPlace {
	n := x.bucketOf(key)
	return x.places[x.first[n]:x.first[n+1]]
}

// codesOf returns the symbols of s.
func codesOf(s string) (codes []uint64) {
	t := basicPlane()
	for i := 0; i < len(s); {
		sym := symbols[s[i]]
		n := 1
		if s[i] >= 0x80 {
			r, k := decodeRune(s, i)
			sym, n = wideSymbol(r, t.classOf(r)), k
		}
		if sym != 0 {
			codes = append(codes, uint64(sym&0xFF))
		}
		i += n
	}
	return codes
}

// packAnchor makes an anchor of at most ten symbols.
func packAnchor(run []uint64, r anchorRule, arg int) anchor {
	a := anchor{rule: r, size: uint8(len(run)), arg: int32(arg)}
	for _, c := range run {
		a.code = a.code<<symbolBits | c
		a.mask = a.mask<<symbolBits | (1<<symbolBits - 1)
	}
	return a
}

// headAnchor makes an anchor of the first symbols of s.
func headAnchor(s string, r anchorRule, arg int) anchor {
	run := codesOf(s)
	return packAnchor(run[:min(len(run), window)], r, arg)
}

// tailAnchor makes an anchor of the last symbols of s.
func tailAnchor(s string, r anchorRule, arg int) anchor {
	run := codesOf(s)
	return packAnchor(run[max(0, len(run)-window):], r, arg)
}

// rarestAnchor makes an anchor of the beginning of s. It may end anywhere
// from the third to the tenth symbol: the end that ordinary text has least
// often is taken, because the last three symbols select it. It is false for a
// text with fewer symbols.
func rarestAnchor(s string, r anchorRule, arg int) (anchor, bool) {
	run := codesOf(s)
	run = run[:min(len(run), window)]
	if len(run) < keySymbols {
		return anchor{}, false
	}
	best, least := 0, 1<<30
	for end := min(len(run), keySymbols+1); end <= len(run); end++ {
		cost := 1
		for _, c := range run[end-keySymbols : end] {
			cost *= symbolFrequency(c)
		}
		if run[end-1] == run[end-2] && run[end-2] == run[end-3] {
			cost *= 100 // rules of dashes, padding, zeros
		}
		if cost <= least {
			best, least = end, cost
		}
	}
	return packAnchor(run[:best], r, arg), true
}

// symbolFrequency returns how often a symbol occurs in text, roughly.
func symbolFrequency(code uint64) int {
	if code > 26 {
		return 2
	}
	const letters = "etaoinsrhldcumfpgwybvkxjqz"
	return max(1, 12-strings.IndexByte(letters, byte('a'+code-1))/2)
}

// pairAnchor makes the anchor of two characters followed by any symbol.
func pairAnchor(s string, r anchorRule, arg int) anchor {
	a := packAnchor(codesOf(s), r, arg)
	a.code, a.mask, a.size = a.code<<symbolBits, a.mask<<symbolBits, a.size+1
	return a
}

// staticAnchors returns the anchors of everything but the known secrets; they
// are the same for every Cleaner.
var staticAnchors = sync.OnceValue(func() []anchor {
	return slices.Concat(formatAnchors(), contextAnchors(), templateAnchors())
})
