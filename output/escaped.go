package output

import (
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/spelling"
)

// The register sees the characters as they stand. Where some of the first
// characters of a secret are escaped and others are not, it sees neither the one
// anchor nor the other. A second register, which sees what escapes stand for, runs
// over the surroundings of each escape: from the ten symbols in front of it to the
// ten behind it. It sees no backslashes: escaping twice adds more of them.

// escapeBack bounds the bytes in front of an escape that are looked at: blanks
// beyond ASCII may stand between the symbols.
const escapeBack = 16 * window

// sweepEscaped notes the known values of which parts of the beginning are
// escaped.
func (w *sweeper) sweepEscaped() {
	if len(w.c.needles) == 0 {
		return
	}
	next := escapeFinder{s: w.s}
	done := 0 // what lies before has been seen
	for i := next.nextIndex(0); i < len(w.s); i = next.nextIndex(max(i+1, done)) {
		if _, end := w.decodeEscape(i); end > i {
			// Nearly every text has lines that begin with such a sign. A value is
			// one word, or its lines are looked for on their own.
			lines := w.s[i] == '\n'
			if start := max(done, w.symbolsBefore(i, lines)); !lines || start < i {
				done = w.sweepAround(start, end, lines)
			}
		}
	}
}

// escapeBytes are the bytes with which an escape may begin, beginsEscape says so for
// each byte.
const escapeBytes = "%&\\\n"

var beginsEscape = func() (t [256]bool) {
	for _, b := range []byte(escapeBytes) {
		t[b] = true
	}
	return t
}()

// escapeFinder finds the bytes with which an escape may begin, each kind by
// itself: a text has few of most kinds.
type escapeFinder struct {
	s  string
	at [len(escapeBytes)]int // one more than the next place of each kind; 0 before the first look
}

// nextIndex returns the next place at or behind i, the length of the text
// when there is none.
func (e *escapeFinder) nextIndex(i int) int {
	first := len(e.s)
	for k := range e.at {
		if i < len(e.s) && e.at[k] <= i {
			e.at[k] = e.findByte(i, escapeBytes[k]) + 1
		}
		first = min(first, e.at[k]-1)
	}
	if i >= len(e.s) {
		return len(e.s)
	}
	return first
}

// findByte returns the next place of one kind. Most are ruled out by the byte
// behind.
func (e *escapeFinder) findByte(i int, b byte) int {
	for i < len(e.s) {
		n := strings.IndexByte(e.s[i:], b)
		if n < 0 {
			break
		}
		if i += n + 1; i < len(e.s) && (b == '\n' && lineSignStart(e.s, i-1) > 0 || b != '\n' && followsEscape(b, e.s[i])) {
			return i - 1
		}
	}
	return len(e.s)
}

// followsEscape reports whether c may be the second byte of an escape that
// begins with b; both may be split from it by characters beyond ASCII or
// controls.
func followsEscape(b, c byte) bool {
	switch {
	case c >= utf8.RuneSelf || c < ' ':
		return true
	case b == '%':
		return hexValue(c) < 16
	case b == '&':
		return c == '#' || isAlnum(c)
	default:
		return c == 'u' || c == 'U' || c == 'x' || c == '\\'
	}
}

// symbolsBefore returns the start of the symbols in front of an escape; with
// whole, of those of its word.
func (w *sweeper) symbolsBefore(i int, whole bool) int {
	from := max(0, i-escapeBack)
	for n := 0; i > from && n < window; {
		i--
		if whole && (w.s[i] == ' ' || w.s[i] == '\t') {
			return i + 1
		}
		if b := w.s[i]; b < utf8.RuneSelf && symbols[b] != 0 || utf8.RuneStart(b) && b >= utf8.RuneSelf {
			n++
		}
	}
	return i
}

// sweepAround runs the second register from start on until ten symbols behind
// the last escape, with whole until the word behind it ends, and returns
// where it ended. at is the end of the first escape.
func (w *sweeper) sweepAround(start, at int, whole bool) int {
	var (
		v      uint64
		starts [window]int
		leads  [window]int // starts with the backslashes in front
		seen   int
	)
	slashes := -1 // where the backslashes before the next symbol begin
	i := start
	for left := window; i < len(w.s) && left > 0; {
		r, end := rune(0), i
		if beginsEscape[w.s[i]] {
			r, end = w.decodeEscape(i)
		}
		if end > i {
			left = window
		} else if end = i + 1; w.s[i] < utf8.RuneSelf {
			if r = rune(w.s[i]); whole && i >= at && (r == ' ' || r == '\t') {
				break
			}
		} else {
			var n int
			r, n = decodeRune(w.s, i)
			end = i + n
		}
		if slashes < 0 && (r == '\\' || w.s[i] == '\\') {
			slashes = i
		}
		sym := symbol(0)
		switch {
		case r < 0 || r == '\\':
		case r < utf8.RuneSelf:
			sym = symbols[r]
		default:
			sym = wideSymbol(r, w.classes.classOf(r))
		}
		if sym != 0 {
			starts[seen%window] = i
			if leads[seen%window] = i; slashes >= 0 {
				leads[seen%window] = slashes
			}
			slashes = -1
			seen++
			v = v<<symbolBits | uint64(sym&63)
			if i >= at {
				left--
			}
			w.checkEscaped(v, &starts, &leads, seen)
		}
		i = end
	}
	return i
}

// checkEscaped notes where the forms begin whose anchors end here.
func (w *sweeper) checkEscaped(v uint64, starts, leads *[window]int, seen int) {
	if !w.c.index.holdsKey(v) {
		return
	}
	places := w.c.index.placesOf(v & keyMask)
	for k := range places {
		a := &places[k]
		if a.rule == ruleForm && !a.isAhead && v&a.mask == a.code && int(a.size) <= seen && formShape(a.arg) != shapeHex {
			first := (seen - int(a.size)) % window
			w.addStart(formShape(a.arg), starts[first])
			w.addStart(formShape(a.arg), leads[first])
		}
	}
}

// decodeEscape returns the character that the escape at i stands for, and the
// index after it; i when there is none. A line break with the sign of a diff
// or a quotation behind it, with which the line in front begins too, stands
// for nothing, which is -1.
func (w *sweeper) decodeEscape(i int) (r rune, end int) {
	m := matcher{s: w.s, classes: w.classes}
	switch w.s[i] {
	case '%':
		if r, end = m.readPercent(i + 1); r > utf8.MaxRune {
			return 0, i
		}
		return r, end
	case '&':
		return decodeReference(w.s, i)
	case '\n':
		if k := lineSignStart(w.s, i); k > 0 {
			return -1, m.skipLineSign(k)
		}
	case '\\':
		return decodeBackslash(w.s, i)
	}
	return 0, i
}

// lineSignStart returns the place of the sign of a diff, a quotation or a
// comment that begins the line behind the line feed at i and the one in front
// of it; 0 when there is none.
func lineSignStart(s string, i int) int {
	k := i + 1
	for k < len(s) && (s[k] == ' ' || s[k] == '\t') {
		k++
	}
	if k == len(s) || !isSign(s[k]) || firstSign(s, i) != s[k] {
		return 0
	}
	return k
}

// firstSign returns the first byte of the line that ends at end, without
// blanks; 0 for a line that is longer than a line of a split value.
func firstSign(s string, end int) byte {
	const most = 256
	from := max(0, end-most)
	n := lastLineFeed(s[from:end])
	if n < 0 && from > 0 {
		return 0
	}
	for _, c := range []byte(s[from+n+1 : end]) {
		if c != ' ' && c != '\t' {
			return c
		}
	}
	return 0
}

// decodeBackslash reads \uXXXX, \UXXXXXXXX and \xXX, behind any number of
// backslashes. Two or more in front of a quotation mark or a slash, and three or
// more elsewhere, come from escaping twice and stand for nothing, which is -1.
func decodeBackslash(s string, i int) (rune, int) {
	k := i
	for k < len(s) && s[k] == '\\' && k-i < maxBackslashes {
		k++
	}
	r, end := decodeHex(s, k)
	switch {
	case end > k:
		if r>>10 == 0xD800>>10 {
			if lo, after := lowHalf(s, end, k-i); after > end {
				return (r-0xD800)<<10 + lo - 0xDC00 + 0x10000, after
			}
		}
		return r, end
	case k-i > 2, k-i == 2 && k < len(s) && (s[k] == '"' || s[k] == '/'):
		return -1, k
	default:
		return 0, i
	}
}

// decodeHex reads what stands behind the backslashes of \uXXXX, \UXXXXXXXX and
// \xXX.
func decodeHex(s string, k int) (rune, int) {
	size := 0
	switch {
	case k >= len(s):
	case s[k] == 'u':
		size = 4
	case s[k] == 'U':
		size = 8
	case s[k] == 'x':
		size = 2
	}
	if size == 0 || k+size >= len(s) {
		return 0, k
	}
	r := rune(0)
	for _, b := range []byte(s[k+1 : k+1+size]) {
		d := hexValue(b)
		if d > 15 || r > utf8.MaxRune {
			return 0, k
		}
		r = r<<4 | rune(d)
	}
	if r > utf8.MaxRune {
		return 0, k
	}
	return r, k + 1 + size
}

// lowHalf reads the second half of a surrogate pair, behind as many backslashes
// as the first.
func lowHalf(s string, i, slashes int) (rune, int) {
	k := i
	for k < len(s) && s[k] == '\\' && k-i < slashes {
		k++
	}
	if lo, end := decodeHex(s, k); k-i == slashes && lo>>10 == 0xDC00>>10 {
		return lo, end
	}
	return 0, i
}

func decodeReference(s string, i int) (rune, int) {
	const most = 12
	n := strings.IndexByte(s[i:min(len(s), i+most)], ';')
	if n < 2 {
		return 0, i
	}
	name := s[i+1 : i+n]
	r := spelling.Named(name)
	if name[0] == '#' {
		r = entityRune(name)
	}
	if r < 0 {
		return 0, i
	}
	return r, i + n + 1
}
