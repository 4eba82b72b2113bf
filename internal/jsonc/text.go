package jsonc

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a text in double quotes.
func (p *parser) str() string {
	p.i++
	start := p.i
	for p.i < len(p.text) && p.text[p.i] != '"' && p.text[p.i] != '\\' && p.text[p.i] >= ' ' {
		p.i++
	}
	if p.peek() == '"' {
		p.i++
		return string(p.text[start : p.i-1])
	}
	out := append([]byte(nil), p.text[start:p.i]...)
	for p.i < len(p.text) {
		switch c := p.text[p.i]; {
		case c == '"':
			p.i++
			return string(out)
		case c < ' ':
			p.fail("a control character in a text")
			return ""
		case c == '\\':
			out = p.escape(out)
		default:
			out = append(out, c)
			p.i++
		}
	}
	p.fail("a text without its closing quote")
	return ""
}

// escapes are those of one character.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads what follows a backslash.
func (p *parser) escape(out []byte) []byte {
	p.i++
	c := p.peek()
	if c == 'u' {
		return p.unicode(out)
	}
	if escapes[c] == 0 {
		p.fail("not an escape of JSON")
		return out
	}
	p.i++
	return append(out, escapes[c])
}

// unicode reads an escaped character, of two halves where it takes two.
func (p *parser) unicode(out []byte) []byte {
	r, ok := p.hex()
	if ok && utf16.IsSurrogate(r) {
		low := rune(-1)
		if p.peek() == '\\' {
			p.i++
			if p.peek() == 'u' {
				low, ok = p.hex()
			}
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			ok = false
		}
	}
	if !ok {
		p.fail("not an escape of JSON")
		return out
	}
	return utf8.AppendRune(out, r)
}

// hex reads u and four digits.
func (p *parser) hex() (rune, bool) {
	p.i++
	if p.i+4 > len(p.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.text[p.i:p.i+4]), 16, 16)
	p.i += 4
	return rune(n), err == nil
}
