package jsonc

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// parseString reads a text in double quotes.
func (p *parser) parseString() string {
	p.i++
	start := p.i
	for p.i < len(p.text) && p.text[p.i] != '"' && p.text[p.i] != '\\' && p.text[p.i] >= ' ' {
		p.i++
	}
	if p.peekByte() == '"' {
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
			p.setError("a control character in a text")
			return ""
		case c == '\\':
			out = p.parseEscape(out)
		default:
			out = append(out, c)
			p.i++
		}
	}
	p.setError("a text without its closing quote")
	return ""
}

// escapes are those of one character.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// parseEscape reads what follows a backslash.
func (p *parser) parseEscape(out []byte) []byte {
	p.i++
	c := p.peekByte()
	if c == 'u' {
		return p.parseUnicode(out)
	}
	if escapes[c] == 0 {
		p.setError("not an escape of JSON")
		return out
	}
	p.i++
	return append(out, escapes[c])
}

// parseUnicode reads an escaped character, of two halves where it takes two.
func (p *parser) parseUnicode(out []byte) []byte {
	r, ok := p.parseHex()
	if ok && utf16.IsSurrogate(r) {
		low := rune(-1)
		if p.peekByte() == '\\' {
			p.i++
			if p.peekByte() == 'u' {
				low, ok = p.parseHex()
			}
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			ok = false
		}
	}
	if !ok {
		p.setError("not an escape of JSON")
		return out
	}
	return utf8.AppendRune(out, r)
}

// parseHex reads u and four digits.
func (p *parser) parseHex() (rune, bool) {
	p.i++
	if p.i+4 > len(p.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.text[p.i:p.i+4]), 16, 16)
	p.i += 4
	return rune(n), err == nil
}
