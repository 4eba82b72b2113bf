package output

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/spelling"
)

// maxBackslashes bounds the escaping of escapes: JSON in JSON in JSON.
const maxBackslashes = 15

// notRune is a number beyond Unicode: what was read is no number.
const notRune = utf8.MaxRune + 1

// addControls adds where any control characters at i end, as they are or
// escaped. There may be none; a gap at the end is left to what follows. The
// blanks after a line break go with it.
func (m *matcher) addControls(i int, to *indexSet) {
	for seen := (escapeKind{}); ; {
		p, _ := m.skipGap(i)
		if e := m.escapeKindAt(p); e != seen {
			// An escape of another kind may be what comes after.
			seen = e
			to.add(i)
		}
		c, end := m.readControl(p)
		if c < 0 {
			to.add(i)
			return
		}
		if m.breaksLine(c) {
			end = m.skipIndent(end, to)
		}
		i = end
	}
}

// escapeKind tells escapes apart: its first byte, how many backslashes, and
// what follows them.
type escapeKind struct {
	lead, follows byte
	slashes       int
}

// escapeKindAt returns the kind of escape that may begin at i.
func (m *matcher) escapeKindAt(i int) escapeKind {
	e := escapeKind{lead: m.byteAt(i)}
	if e.lead == '\\' {
		var k int
		k, e.slashes = m.skipBackslashes(i)
		e.follows, _ = m.readByte(k)
	}
	return e
}

// skipIndent returns the index after blanks at i. A plus sign is one in a query
// and itself elsewhere, so the index before the first is added.
func (m *matcher) skipIndent(i int, to *indexSet) int {
	plus := false
	for {
		p, _ := m.skipGap(i)
		b, end := m.readByte(p)
		switch v, after := m.readHexNumber(end, 2); {
		case b == ' ':
			i = end
		case b == '%' && v == ' ':
			i = after
		case b == '+':
			if !plus {
				to.add(p)
			}
			plus, i = true, end
		default:
			return i
		}
	}
}

func (m *matcher) breaksLine(r rune) bool {
	return r == '\n' || r == '\r' || m.classes.classOf(r)&lineBreak != 0
}

// readControl reads the escape of one character that a needle may have lost; it
// is -1 when there is none.
func (m *matcher) readControl(i int) (r rune, end int) {
	k, n := m.skipBackslashes(i)
	c, end := m.readByte(k)
	switch {
	case n > 0 && c != 0 && strings.IndexByte("nrtfbv", c) >= 0:
		if c == 'n' || c == 'r' {
			return '\n', end
		}
		return 0, end
	case n > 0 && c == 'u':
		r, end = m.readHexNumber(end, 4)
	case n > 0 && c == 'x':
		r, end = m.readHexNumber(end, 2)
	case n == 0 && c == '%':
		r, end = m.readPercent(end)
	default:
		return -1, end
	}
	if r != '\n' && r != '\t' && (r > utf8.MaxRune || m.classes.classOf(r)&(hidden|lineBreak) == 0) {
		return -1, end
	}
	return r, end
}

// readPercent reads a character in percent-encoded UTF-8 whose first sign has
// been read.
func (m *matcher) readPercent(i int) (r rune, end int) {
	var buf [utf8.UTFMax]byte
	for n := range buf {
		v, after := m.readHexNumber(i, 2)
		if v > 0xFF {
			break
		}
		buf[n] = byte(v)
		if r, _ := utf8.DecodeRune(buf[:n+1]); r != utf8.RuneError {
			return r, after
		}
		b, next := m.readByte(after)
		if b != '%' {
			break
		}
		i = next
	}
	return notRune, i
}

// addBlanks adds where the blanks at i end. Any run of them stands for any
// other, a line break too, since text is reflowed; a plus sign is a blank in
// a query.
func (m *matcher) addBlanks(i int, u *needleUnit, to *indexSet) {
	found, seen := false, byte(0)
	for {
		p, line := m.skipGap(i)
		found = found || line
		if b := m.byteAt(p); found && b != seen && b != ' ' {
			// What follows may spell a blank, or be what comes after them.
			seen = b
			to.add(p)
		}
		var one indexSet
		m.addSpellings(p, u, &one)
		if one.n > 0 {
			i, found = one.at[0], true
			continue
		}
		c, end := m.readControl(p)
		if !u.optional || c < 0 {
			if found {
				to.add(p)
			}
			return
		}
		i = end
	}
}

// skipBackslashes returns the index after the backslashes at i, and their
// number.
func (m *matcher) skipBackslashes(i int) (end, n int) {
	for n < maxBackslashes {
		b, k := m.readByte(i)
		if b != '\\' {
			break
		}
		i = k
		n++
	}
	return i, n
}

// readHexNumber reads hexadecimal digits at i; it returns a number beyond
// Unicode when they are not there.
func (m *matcher) readHexNumber(i, digits int) (v rune, end int) {
	for range digits {
		b, k := m.readByte(i)
		d := hexValue(b)
		if d > 15 {
			return notRune, k
		}
		v, i = v<<4|rune(d), k
	}
	return v, i
}

// addSpellings adds where each way to write u at i ends.
func (m *matcher) addSpellings(i int, u *needleUnit, to *indexSet) {
	if strings.HasPrefix(m.s[i:], u.text) {
		to.add(i + len(u.text))
	}
	switch b := m.byteAt(i); {
	case b >= utf8.RuneSelf:
		if r, n := decodeRune(m.s, i); r >= 0xFF01 && r <= 0xFF5E && r-0xFEE0 == u.r {
			to.add(i + n) // its full-width form
		}
	}
	switch m.byteAt(i) {
	case '%':
		to.add(m.skipHexBytes(i, u.text, '%', 0))
	case '+':
		if u.r == ' ' {
			to.add(i + 1)
		}
	case '&':
		to.add(m.skipEntity(i, u))
	case '\\':
		m.addBackslashed(i, u, to)
	}
}

// skipHexBytes returns the index after the bytes of text written in
// hexadecimal, each after slashes backslashes and the lead, or -1.
func (m *matcher) skipHexBytes(i int, text string, lead byte, slashes int) int {
	for _, want := range []byte(text) {
		n := 0
		if slashes > 0 {
			i, n = m.skipBackslashes(i)
		}
		b, p := m.readByte(i)
		v, end := m.readHexNumber(p, 2)
		if n != slashes || b != lead || v != rune(want) {
			return -1
		}
		i = end
	}
	return i
}

// addBackslashed adds where the escapes of u at i end: those of JSON, C and
// shells, with any number of backslashes from escaping more than once.
func (m *matcher) addBackslashed(i int, u *needleUnit, to *indexSet) {
	if u.r == '\\' {
		m.addBackslashRun(i, len(u.text), to)
	}
	k, n := m.skipBackslashes(i)
	c, end := m.readByte(k)
	switch {
	case c == 'u':
		v, end := m.readHexNumber(end, 4)
		if v >= 0xD800 && v < 0xDC00 {
			if lo, after := m.lowSurrogate(end, n); lo != 0 {
				v, end = (v-0xD800)<<10+lo-0xDC00+0x10000, after
			}
		}
		if v == u.r {
			to.add(end)
		}
	case c == 'x':
		to.add(m.skipHexBytes(i, u.text, 'x', n))
	case c-'0' < 8 && len(u.text) == 1:
		d, p := m.readByte(end)
		e, p := m.readByte(p)
		if d-'0' < 8 && e-'0' < 8 && rune(c-'0')<<6|rune(d-'0')<<3|rune(e-'0') == u.r {
			to.add(p)
		}
	case !isAlnum(c) && c != 0 && strings.HasPrefix(m.s[end-1:], u.text):
		to.add(end - 1 + len(u.text))
	}
}

// addBackslashRun adds where a run of count backslashes at i ends, escaped up
// to three times.
func (m *matcher) addBackslashRun(i, count int, to *indexSet) {
	const most = 8
	for n := 1; n <= most*count; n++ {
		b, end := m.readByte(i)
		if b != '\\' {
			return
		}
		if n == count || n == 2*count || n == 4*count || n == most*count {
			to.add(end)
		}
		i = end
	}
}

// lowSurrogate returns the low surrogate that is escaped at i, or 0.
func (m *matcher) lowSurrogate(i, slashes int) (v rune, end int) {
	i, n := m.skipBackslashes(i)
	b, i := m.readByte(i)
	v, end = m.readHexNumber(i, 4)
	if n != slashes || b != 'u' || v < 0xDC00 || v > 0xDFFF {
		return 0, i
	}
	return v, end
}

// skipEntity returns the index after an HTML character reference to u at i, or
// -1.
func (m *matcher) skipEntity(i int, u *needleUnit) int {
	var buf [10]byte
	name := buf[:0]
	b, i := m.readByte(i)
	for b != ';' {
		if b, i = m.readByte(i); b == 0 || len(name) == len(buf) {
			return -1
		}
		name = append(name, b)
	}
	if entityRune(string(name[:len(name)-1])) != u.r {
		return -1
	}
	return i
}

// entityRune returns the character of a reference, -1 when it is not one of
// those that encoders write.
func entityRune(name string) rune {
	if r := spelling.Named(name); r >= 0 {
		return r
	}
	base, digits := 10, strings.TrimPrefix(name, "#")
	if hexa, ok := strings.CutPrefix(strings.ToLower(digits), "x"); ok {
		base, digits = 16, hexa
	}
	v, err := strconv.ParseUint(digits, base, 20)
	if err != nil || name[0] != '#' {
		return -1
	}
	return rune(v)
}
