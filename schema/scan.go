package schema

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// readString reads a string that begins at the present byte. One without
// escapes is a slice of the text.
func (d *jsonDecoder) readString() (string, bool) {
	d.i++
	start := d.i
	for d.i < len(d.s) {
		switch c := d.s[d.i]; {
		case c == '"':
			s := d.s[start:d.i]
			d.i++
			return s, true
		case c == '\\':
			return d.readEscaped(start)
		case c < 0x20:
			return "", d.syntaxError("control character in a string")
		}
		d.i++
	}
	return "", d.syntaxError("")
}

// readEscaped reads the rest of a string from its first escape on.
func (d *jsonDecoder) readEscaped(start int) (string, bool) {
	var b strings.Builder
	b.WriteString(d.s[start:d.i])
	for d.i < len(d.s) {
		c := d.s[d.i]
		switch {
		case c == '"':
			d.i++
			return b.String(), true
		case c == '\\':
			if !d.readEscape(&b) {
				return "", false
			}
			continue
		case c < 0x20:
			return "", d.syntaxError("control character in a string")
		}
		run := d.i
		for d.i < len(d.s) && d.s[d.i] != '"' && d.s[d.i] != '\\' && d.s[d.i] >= 0x20 {
			d.i++
		}
		b.WriteString(d.s[run:d.i])
	}
	return "", d.syntaxError("")
}

func (d *jsonDecoder) readEscape(b *strings.Builder) bool {
	d.i++
	if d.i >= len(d.s) {
		return d.syntaxError("")
	}
	c := d.s[d.i]
	if c == 'u' {
		return d.unicodeEscape(b)
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	k := strings.IndexByte(from, c)
	if k < 0 {
		return d.syntaxError("unknown escape in a string")
	}
	b.WriteByte(to[k])
	d.i++
	return true
}

// unicodeEscape reads XXXX of \uXXXX, and the second half of a surrogate
// pair. Half a pair is not a character (RFC 8259 section 8.2): programs differ
// in what they make of it, so it is refused.
func (d *jsonDecoder) unicodeEscape(b *strings.Builder) bool {
	r, ok := d.readHex4()
	if !ok {
		return false
	}
	if utf16.IsSurrogate(r) {
		if !strings.HasPrefix(d.s[d.i:], `\u`) {
			return d.syntaxError("half a surrogate pair in a string")
		}
		d.i++
		low, ok := d.readHex4()
		if !ok {
			return false
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return d.syntaxError("half a surrogate pair in a string")
		}
	}
	b.WriteRune(r)
	return true
}

func (d *jsonDecoder) readHex4() (rune, bool) {
	d.i++
	if len(d.s)-d.i < 4 {
		d.i = len(d.s)
		return 0, d.syntaxError("")
	}
	var r rune
	for range 4 {
		c := d.s[d.i]
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, d.syntaxError(`\u needs four hexadecimal digits`)
		}
		r = r<<4 | rune(c)
		d.i++
	}
	return r, true
}

// readNumber reads a number by the grammar of RFC 8259 section 6. whole is true
// when it has neither fraction nor exponent.
func (d *jsonDecoder) readNumber() (n string, whole, ok bool) {
	start := d.i
	if d.s[d.i] == '-' {
		d.i++
	}
	if d.i < len(d.s) && d.s[d.i] == '0' {
		d.i++
	} else if !d.skipDigits() {
		return "", false, false
	}
	whole = true
	if d.i < len(d.s) && d.s[d.i] == '.' {
		whole = false
		d.i++
		if !d.skipDigits() {
			return "", false, false
		}
	}
	if d.i < len(d.s) && d.s[d.i]|0x20 == 'e' {
		whole = false
		d.i++
		if d.i < len(d.s) && (d.s[d.i] == '+' || d.s[d.i] == '-') {
			d.i++
		}
		if !d.skipDigits() {
			return "", false, false
		}
	}
	n = d.s[start:d.i]
	if whole && len(n) < maxMagnitude {
		return n, true, true
	}
	if len(n) > maxNumberBytes || !inRange(n) {
		return "", false, d.setFault("is a number out of range")
	}
	return n, whole, true
}

func (d *jsonDecoder) skipDigits() bool {
	start := d.i
	for d.i < len(d.s) && isDigit(d.s[d.i]) {
		d.i++
	}
	return d.i > start || d.syntaxError("expected a digit")
}
