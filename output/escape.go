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

// skipIndent returns the index after blanks at i. A plus sign is one in a query
// and itself elsewhere: plus is the index of the first, -1 when there is none.
func (m *matcher) skipIndent(i int) (end, plus int) {
	plus = -1
	for {
		p, _ := m.skipGap(i)
		b, end := m.readByte(p)
		switch v, after := m.readHexNumber(end, 2); {
		case b == ' ':
			i = end
		case b == '%' && v == ' ':
			i = after
		case b == '+':
			if plus < 0 {
				plus = p
			}
			i = end
		default:
			return i, plus
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
	case n > 0 && c == 'U':
		r, end = m.readHexNumber(end, 8)
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
		if r, size := utf8.DecodeRune(buf[:n+1]); r != utf8.RuneError || size > 1 {
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
		if d > 15 || v > utf8.MaxRune {
			return notRune, k
		}
		v, i = v<<4|rune(d), k
	}
	return v, i
}

// readBackslashed reads the escapes of JSON, C and shells at i, with any number
// of backslashes from escaping more than once; r is -1 when there is none.
func (m *matcher) readBackslashed(i int) (r rune, end int) {
	k, n := m.skipBackslashes(i)
	c, end := m.readByte(k)
	switch {
	case c == 'u':
		v, end := m.readHexNumber(end, 4)
		if v >= 0xD800 && v < 0xDC00 {
			if lo, after := m.lowSurrogate(end, n); lo != 0 {
				return (v-0xD800)<<10 + lo - 0xDC00 + 0x10000, after
			}
		}
		if v <= utf8.MaxRune {
			return v, end
		}
	case c == 'U':
		if v, end := m.readHexNumber(end, 8); v <= utf8.MaxRune {
			return v, end
		}
	case c == 'x':
		if v, end := m.readHexBytes(i, n); v <= utf8.MaxRune {
			return v, end
		}
	case c-'0' < 8:
		d, p := m.readByte(end)
		e, p := m.readByte(p)
		if v := rune(c-'0')<<6 | rune(d-'0')<<3 | rune(e-'0'); d-'0' < 8 && e-'0' < 8 && v < utf8.RuneSelf {
			return v, p
		}
	case c >= utf8.RuneSelf:
		r, n := decodeRune(m.s, end-1)
		return r, end - 1 + n
	case !isAlnum(c) && c != 0:
		return rune(c), end
	}
	return -1, end
}

// readHexBytes reads a character in UTF-8 whose bytes are written as \xXX, each
// behind as many backslashes.
func (m *matcher) readHexBytes(i, slashes int) (r rune, end int) {
	var buf [utf8.UTFMax]byte
	for n := range buf {
		k, found := m.skipBackslashes(i)
		b, p := m.readByte(k)
		v, after := m.readHexNumber(p, 2)
		if found != slashes || b != 'x' || v > 0xFF {
			break
		}
		buf[n], i = byte(v), after
		if r, size := utf8.DecodeRune(buf[:n+1]); r != utf8.RuneError || size > 1 {
			return r, after
		}
	}
	return notRune, i
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

// readEntity reads an HTML character reference at i; r is -1 when there is
// none.
func (m *matcher) readEntity(i int) (r rune, end int) {
	var buf [10]byte
	name := buf[:0]
	b, i := m.readByte(i)
	for b != ';' {
		if b, i = m.readByte(i); b == 0 || len(name) == len(buf) {
			return -1, i
		}
		name = append(name, b)
	}
	return entityRune(string(name[:len(name)-1])), i
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
