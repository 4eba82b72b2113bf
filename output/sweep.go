package output

import (
	"cmp"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// mark says what replaces a span. A lower mark wins where spans overlap,
// because it says more.
type mark uint16

const (
	markSecret mark = iota
	markKey
	markJWT
	markTemplate
	markBasic
	markBearer
	markURL
	markValue
	// markFormat plus an index is a row of formats.
	markFormat
)

var markTexts = [markFormat]string{
	markSecret:   "[REDACTED:secret]",
	markKey:      "[REDACTED:private-key]",
	markJWT:      "[REDACTED:jwt]",
	markTemplate: "[STRIPPED-TEMPLATE-TOKEN]",
	markBasic:    "[REDACTED:basic-auth]",
	markBearer:   "[REDACTED:bearer-token]",
	markURL:      "[REDACTED:url-password]",
	markValue:    "[REDACTED:credential]",
}

func (m mark) String() string {
	if m < markFormat {
		return markTexts[m]
	}
	return formats[m-markFormat].marker
}

// isWeaker reports whether m says less than o about the same text.
func (m mark) isWeaker(o mark) bool {
	rank := func(m mark) int {
		switch {
		case m == markSecret:
			return 0
		case m >= markFormat:
			return 1
		default:
			return 1 + int(m)
		}
	}
	return rank(m) > rank(o)
}

// markedSpan is a part of a text that is to be replaced by a marker.
type markedSpan struct {
	start, end int
	mark       mark
}

// sweeper is the state of one sweep.
type sweeper struct {
	c       *Cleaner
	s       string
	classes *classTable
	spans   []markedSpan
	// covered holds for each rule the end of its last span: nothing that
	// begins inside needs another look.
	covered [rules]int
	// hunts holds where known values may begin; nil when there is no such place.
	hunts *hunts
	// steps is how many characters, readings and links the hunts looked at.
	steps int
}

// findSpans returns what has to be replaced in s, which is plain text, in
// order and without overlap.
func (c *Cleaner) findSpans(s string) []markedSpan {
	w := sweeper{c: c, s: s, classes: basicPlane()}
	w.sweepPlain()
	w.sweepEscaped()
	w.huntNeedles()
	return mergeSpans(w.spans)
}

// sweepPlain runs the register over the characters as they stand. It looks for
// anchors behind every second byte: one that ends between two looks is seen one
// symbol ahead.
func (w *sweeper) sweepPlain() {
	var (
		v     uint64
		s     = w.s
		index = w.c.index
		pairs = symbolPairs()
	)
	for i := 0; i < len(s); {
		for i+8 <= len(s) {
			x := loadWord(s[i : i+8])
			end := i + 8
			wide := x & highBits
			if wide != 0 {
				end = i + bits.TrailingZeros64(wide)/8&^1
			}
			for i < end {
				p := &pairs[x&0x7FFF]
				x >>= 16
				i += 2
				v = v<<(p.shift&63) | uint64(p.codes)
				if index.holdsKey(v) && p.shift != 0 {
					w.checkAnchors(v, i)
				}
			}
			if wide != 0 {
				break
			}
		}
		v, i = w.sweepByOne(v, i)
	}
}

// sweepByOne is sweepPlain for one character after the other, from i on until two
// of ASCII follow. It returns the register, and the index after them.
func (w *sweeper) sweepByOne(v uint64, i int) (uint64, int) {
	s, table := w.s, wideSymbols()
	for i < len(s) {
		var sym symbol
		if a := s[i]; a-0xC2 < 0xE0-0xC2 && i+1 < len(s) && s[i+1]&0xC0 == 0x80 {
			sym = table[rune(a&0x1F)<<6|rune(s[i+1]&0x3F)]
			i += 2
		} else if a-0xE1 < 0xF0-0xE1 && a != 0xED && i+2 < len(s) && s[i+1]&0xC0 == 0x80 && s[i+2]&0xC0 == 0x80 {
			sym = table[rune(a&0x0F)<<12|rune(s[i+1]&0x3F)<<6|rune(s[i+2]&0x3F)]
			i += 3
		} else if a == 0xF0 && i+3 < len(s) && s[i+1] == 0x9F && s[i+2]-0x80 < 0x2C && s[i+3]&0xC0 == 0x80 {
			// U+1F000 to U+1FAFF are all pictographs.
			sym = spreadSymbol(0x1F000 | rune(s[i+2]&0x3F)<<6 | rune(s[i+3]&0x3F))
			i += 4
		} else {
			sym, i = symbolAt(s, i)
		}
		v = v<<(sym>>8&63) | uint64(sym&63)
		if sym != 0 && w.c.index.holdsKey(v) {
			w.checkAnchors(v, i)
		}
		if i+8 <= len(s) && s[i]|s[i+1] < utf8.RuneSelf {
			break
		}
	}
	return v, i
}

// symbolAt returns the symbol of the character at i, and the index after it.
func symbolAt(s string, i int) (symbol, int) {
	if s[i] < utf8.RuneSelf {
		return symbols[s[i]], i + 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return wideSymbol(r, basicPlane().classOf(r)), i + n
}

// checkAnchors checks the anchors that end with the symbol in front of i, and then
// those that end with the next one.
func (w *sweeper) checkAnchors(v uint64, i int) {
	places := w.c.index.placesOf(v & keyMask)
	ahead := false
	for k := range places {
		a := &places[k]
		ahead = ahead || a.isAhead
		if !a.isAhead && v&a.mask == a.code {
			w.checkAnchor(&a.anchor, i)
		}
	}
	if !ahead {
		return
	}
	next := symbol(0)
	for next == 0 {
		if i == len(w.s) {
			return
		}
		next, i = symbolAt(w.s, i)
	}
	v = v<<symbolBits | uint64(next&63)
	for k := range places {
		if a := &places[k]; a.isAhead && v&a.mask == a.code {
			w.checkAnchor(&a.anchor, i)
		}
	}
}

// checkAnchor checks the text around an anchor and notes what has to go.
func (w *sweeper) checkAnchor(a *anchor, end int) {
	switch a.rule {
	case ruleForm:
		w.addStart(formShape(a.arg), w.symbolStart(end, int(a.size)))
		return
	case ruleTag, ruleBracket:
		w.applyRule(a.rule, w.symbolStart(end, int(a.size)), 0)
		return
	}
	if end <= w.covered[a.rule] {
		return
	}
	w.applyRule(a.rule, end, int(a.arg))
}

// finders look for what the static rules are about, at the place of an anchor;
// arg is that of the anchor.
var finders = [rules]func(s string, at, arg int) (markedSpan, bool){
	ruleFormat: findFormat, ruleName: findValue, ruleURL: findPassword, ruleBearer: findBearer, ruleBasic: findBasic,
	rulePEM: findKey, ruleJWT: findJWT, ruleNetrc: findNetrc, ruleTag: findTag, ruleBracket: findBracket,
	ruleChatMarker: findChatMarker, ruleLiteral: findLiteral,
}

func (w *sweeper) applyRule(r anchorRule, at, arg int) {
	if x, ok := finders[r](w.s, at, arg); ok {
		w.addSpan(x)
		w.covered[r] = x.end
	}
}

// addSpan adds a span, joined with the last one where they are the same.
func (w *sweeper) addSpan(x markedSpan) {
	if n := len(w.spans); n > 0 {
		l := &w.spans[n-1]
		if x.start >= l.start && x.end <= l.end && !l.mark.isWeaker(x.mark) {
			return
		}
	}
	w.spans = append(w.spans, x)
}

// symbolStart returns the start of the symbol that is size symbols before end.
func (w *sweeper) symbolStart(end, size int) int {
	if start := end - size; start >= 0 && end >= 8 {
		n := countVisible(w.s[end-8 : end])
		if n >= size || n == 8 && countVisible(w.s[start:start+8]) == 8 {
			return start
		}
	}
	for size > 0 {
		if b := w.s[end-1]; b < utf8.RuneSelf {
			end--
			if symbols[b] != 0 {
				size--
			}
			continue
		}
		r, n := utf8.DecodeLastRuneInString(w.s[:end])
		end -= n
		if wideSymbol(r, basicPlane().classOf(r)) != 0 {
			size--
		}
	}
	return end
}

func mergeSpans(spans []markedSpan) []markedSpan {
	if len(spans) < 2 {
		return spans
	}
	byStart := func(a, b markedSpan) int { return cmp.Compare(a.start, b.start) }
	if !slices.IsSortedFunc(spans, byStart) {
		slices.SortStableFunc(spans, byStart)
	}
	n := 0
	for _, x := range spans[1:] {
		l := &spans[n]
		if x.start >= l.end {
			n++
			spans[n] = x
			continue
		}
		l.end = max(l.end, x.end)
		if l.mark.isWeaker(x.mark) {
			l.mark = x.mark
		}
	}
	return spans[:n+1]
}

// replaceSpans writes s with a marker in place of each span.
func replaceSpans(s string, spans []markedSpan) string {
	size := len(s)
	for _, x := range spans {
		size += len(x.mark.String()) - (x.end - x.start)
	}
	out := make([]byte, 0, size)
	from := 0
	for _, x := range spans {
		out = append(append(out, s[from:x.start]...), x.mark.String()...)
		from = x.end
	}
	return string(append(out, s[from:]...))
}
