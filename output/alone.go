package output

import "unicode/utf8"

// A reading that is alone goes on by itself as long as the text can be read in one
// way only: without that, a text that repeats the beginning of a value would be
// read at the speed of one that can be read in many ways.

// plainText are the characters of ASCII that can be read in one way only.
var plainText = func() (t [256]bool) {
	for b := byte('!'); b < 0x7F; b++ {
		t[b] = b != '%' && b != '&' && b != '+' && b != '\\'
	}
	return t
}()

// plainDigits is the same for base64.
var plainDigits = func() (t [256]bool) {
	for b := range t {
		t[b] = isAlnum(byte(b)) || b == '+' || b == '/'
	}
	return t
}()

// plainOf returns the characters of a shape that can be read in one way only.
func plainOf(shape formShape) *[256]bool {
	switch shape {
	case shapeText:
		return &plainText
	case shapeBase64:
		return &plainDigits
	default:
		return new([256]bool)
	}
}

// runAlone reads as long as there is one way only. It is false when there is none
// at the beginning.
func (h *hunt) runAlone(c reading) bool {
	start := c.at
	h.isSole = true
	isAlive := h.runOnly(&c)
	h.isSole = false
	if isAlive && c.at > start {
		h.push(c)
	}
	return !isAlive || c.at > start
}

// runOnly is runAlone without the last step; it is false where no value goes on.
func (h *hunt) runOnly(c *reading) bool {
	for {
		h.runPlain(c)
		r, from, end := h.readOnly(c)
		if end == 0 {
			return true
		}
		h.steps++
		h.next = from + 1
		if !h.advance(c, r, from, end) {
			return false
		}
		if end > from+1 && h.starts.containsAny(from+1, end) {
			return true // a value may begin inside of what was read
		}
		h.next = end
	}
}

// runPlain reads the plain bytes that are the next characters of a value.
func (h *hunt) runPlain(c *reading) {
	n := commonPrefix(h.m.s[c.at:], h.a.plain[c.node+1:])
	if end := c.at + n; n > 0 && h.shape == shapeText && h.m.byteAt(end) == ' ' {
		n-- // a reading with blanks may begin there
	}
	if n == 0 {
		return
	}
	h.steps += n
	c.run = h.trail.addBytes(c.run, c.number, c.at, n)
	c.node += int32(n)
	c.number += n
	c.at += n
	h.next = max(h.next, c.at)
}

// readOnly returns the next character, where it begins and where it ends, when
// there is one way only to read it; else the end is 0.
func (h *hunt) readOnly(c *reading) (r rune, start, end int) {
	s, i := h.m.s, c.at
	if i == len(s) || h.isCrowded(c) {
		return 0, 0, 0
	}
	if b := s[i]; h.a.single[b] {
		if h.shape == shapeText && h.m.byteAt(i+1) == ' ' {
			return 0, 0, 0
		}
		return rune(b), i, i + 1
	}
	switch h.shape {
	case shapeHex:
		return h.readOnlyHex(i)
	case shapeText:
		return h.readOnlyEscape(i)
	default:
		return 0, 0, 0
	}
}

// readOnlyHex is readOnly for the two digits of a byte. A carriage return may
// have been added.
func (h *hunt) readOnlyHex(i int) (r rune, start, end int) {
	s := h.m.s
	if i+1 >= len(s) {
		return 0, 0, 0
	}
	a, b := hexValue(s[i]), hexValue(s[i+1])
	r = rune(a)<<4 | rune(b)
	if a > 15 || b > 15 || r == '\r' {
		return 0, 0, 0
	}
	return r, i, i + 2
}

// readOnlyEscape is readOnly for what is escaped, or stands behind a line break.
// What it begins with must be in no value.
func (h *hunt) readOnlyEscape(i int) (r rune, start, end int) {
	m := &h.m
	switch b := m.s[i]; {
	case b == '\n' && !h.a.labels[' ']:
		p, _ := m.skipGap(i)
		if c := m.byteAt(p); !h.a.single[c] || isSign(c) || m.byteAt(p+1) == ' ' || h.starts.containsAny(i, p) {
			return 0, 0, 0
		}
		return rune(m.s[p]), p, p + 1
	case b >= utf8.RuneSelf || h.a.labels[b]:
		return 0, 0, 0
	case b == '%':
		r, end = m.readPercent(i + 1)
	case b == '&':
		r, end = m.readEntity(i)
	case b == '\\':
		r, end = m.readBackslashed(i)
	default:
		return 0, 0, 0
	}
	if r <= ' ' || r >= 0x7F || r == '\\' {
		return 0, 0, 0
	}
	return r, i, end
}
