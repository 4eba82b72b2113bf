package output

import "strings"

// matchHex compares the bytes of a needle with a dump at i: two digits each, in
// either case, with the separators that dumps use.
func (m *matcher) matchHex(i int, raw string) (int, bool) {
	for k := range len(raw) {
		p := m.skipSeparators(i)
		if v, end := m.readHexNumber(p, 2); raw[k] == '\n' && v == '\r' {
			p = m.skipSeparators(end)
		}
		for _, want := range [2]byte{raw[k] >> 4, raw[k] & 15} {
			p, _ = m.skipGap(p)
			if hexValue(m.byteAt(p)) != want {
				return 0, false
			}
			p++
		}
		i = p
	}
	return i, true
}

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

// matchBase64 compares digits with the text at i, in either alphabet of RFC
// 4648, broken over lines, and with the escapes that JSON and URLs add.
func (m *matcher) matchBase64(i int, digits string) (int, bool) {
	for k := range len(digits) {
		for {
			i, _ = m.skipGap(i)
			c, end := m.readByte(i + 1)
			if m.byteAt(i) != '\\' || c != 'n' && c != 'r' {
				break
			}
			i = end
		}
		d, n := m.base64Digit(i)
		if n == 0 || d != digits[k] {
			return 0, false
		}
		i += n
	}
	return i, true
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

// widenSpan widens a base64 match to the digits beside it that hold some of
// its bits, and the padding.
func (m *matcher) widenSpan(x markedSpan, f *needleForm) markedSpan {
	if f.lead && x.start > 0 && isBase64(m.s[x.start-1]) {
		x.start--
	}
	if _, n := m.base64Digit(x.end); f.trail && n > 0 {
		x.end += n
	}
	for range 2 {
		if m.byteAt(x.end) == '=' {
			x.end++
		}
	}
	return x
}
