package output

import "strings"

// skipSeparators returns the index after what may stand between two bytes of a
// dump.
func (m *matcher) skipSeparators(i int) int {
	for {
		p := i
		i, _ = m.skipGap(i)
		switch c := m.byteAt(i); {
		case c == '0' && m.byteAt(i+1)|0x20 == 'x', c == '\\' && m.byteAt(i+1)|0x20 == 'x':
			i += 2
		case c != 0 && strings.IndexByte(" :-,;.%=", c) >= 0:
			i++
		}
		if i == p {
			return i
		}
	}
}

// base64Digit reads one base64 digit at i in the standard alphabet; n is 0 when
// there is none.
func (m *matcher) base64Digit(i int) (d byte, n int) {
	switch c := m.byteAt(i); {
	case isAlnum(c) || c == '+' || c == '/':
		return c, 1
	case c == '-':
		return '+', 1
	case c == '_':
		return '/', 1
	case c == '\\':
		e, end := m.readByte(i + 1)
		if e == '/' {
			return '/', end - i
		}
		if v, after := m.readHexNumber(end, 4); e == 'u' && (v == '+' || v == '/') {
			return byte(v), after - i
		}
	case c == '%':
		if v, end := m.readHexNumber(i+1, 2); v == '+' || v == '/' {
			return byte(v), end - i
		}
	}
	return 0, 0
}

// paddingEnd returns the index after what belongs to base64 that ends at i: the
// digit that holds some of its last bits, with trail, and the padding.
func (m *matcher) paddingEnd(i int, trail bool) int {
	if _, n := m.base64Digit(i); trail {
		i += n
	}
	for range 2 {
		if m.byteAt(i) == '=' {
			i++
		}
	}
	return i
}
