package output

import "unicode/utf8"

// read goes on with a reading by each way to read the next character. alone
// says that there is no other reading.
func (h *hunt) read(c reading, alone bool) {
	switch {
	case alone && !c.spaced && h.runAlone(c):
	case h.shape == shapeHex:
		h.readHex(c)
	case h.shape == shapeBase64:
		h.readDigit(c)
	case c.spaced:
		h.readSpaced(c)
	default:
		h.readText(c)
	}
}

// readText reads a character as it stands or escaped, behind what may split a
// value.
func (h *hunt) readText(c reading) {
	m := &h.m
	p, line := m.skipGap(c.at)
	if line {
		h.move(c, ' ', c.at, p)
	}
	b := m.byteAt(p)
	if b == '\\' || b == '%' {
		h.skipControl(c, p)
	}
	h.readSpellings(c, p)
	if b >= utf8.RuneSelf {
		wide, broken := m.skipWideGap(p)
		if wide > p {
			h.readSpellings(c, wide)
		}
		p, line = wide, line || broken
	}
	if line {
		if after := m.skipLineSign(p); after > p {
			h.readSpellings(c, after)
		}
	}
}

// skipControl goes on behind the escape of a character at i that a value may
// have lost or be split by. The blanks after a line break go with it.
func (h *hunt) skipControl(c reading, i int) {
	r, end := h.m.readControl(i)
	if r < 0 || c.node == 0 {
		return
	}
	if h.m.breaksLine(r) {
		var plus int
		if end, plus = h.m.skipIndent(end); plus >= 0 {
			h.stay(c, plus)
		}
	}
	h.stay(c, end)
}

// readSpellings reads the character that is written at i, in each way.
func (h *hunt) readSpellings(c reading, i int) {
	m := &h.m
	b := m.byteAt(i)
	if b >= utf8.RuneSelf {
		r, n := decodeRune(m.s, i)
		if r == utf8.RuneError && n == 1 {
			return
		}
		h.move(c, r, i, i+n)
		if r >= 0xFF01 && r <= 0xFF5E {
			h.move(c, r-0xFEE0, i, i+n) // what its full-width form stands for
		}
		return
	}
	if i < len(m.s) {
		h.move(c, rune(b), i, i+1)
	}
	switch b {
	case '%':
		if r, end := m.readPercent(i + 1); r <= utf8.MaxRune {
			h.move(c, r, i, end)
		}
	case '+':
		h.move(c, ' ', i, i+1)
	case '&':
		if r, end := m.readEntity(i); r >= 0 {
			h.move(c, r, i, end)
		}
	case '\\':
		if r, end := m.readBackslashed(i); r >= 0 {
			h.move(c, r, i, end)
		}
	}
}

// addSpaced adds the reading that begins at i and has blanks after every
// character.
func (h *hunt) addSpaced(i int) {
	b, n := rune(h.m.s[i]), 1
	if b >= utf8.RuneSelf {
		b, n = decodeRune(h.m.s, i)
	}
	if h.m.byteAt(i+n) == ' ' {
		h.move(reading{run: noRun, spaced: true}, b, i, i+n)
	}
}

// readSpaced reads a character after one to three blanks.
func (h *hunt) readSpaced(c reading) {
	const most = 3
	m, i := &h.m, c.at
	for n := 0; n < most && m.byteAt(i) == ' '; n++ {
		i, _ = m.skipWideGap(i + 1)
	}
	slashes := i < len(m.s) && m.s[i] == '\\' && h.a.nodes[c.node].label == '\\'
	if i == c.at && !slashes || i >= len(m.s) {
		return
	}
	r, n := rune(m.s[i]), 1
	if r >= utf8.RuneSelf {
		r, n = decodeRune(m.s, i)
	}
	h.move(c, r, i, i+n)
}

// readHex reads a byte of a dump: two digits, in either case, behind the
// separators that dumps use. A carriage return may have been added.
func (h *hunt) readHex(c reading) {
	p := h.m.skipSeparators(c.at)
	v, end := h.m.readHexNumber(p, 2)
	if v > 0xFF {
		return
	}
	start := min(p, h.starts[:p/64+1].nextFrom(c.at)) // it may begin with 0x
	if v == '\r' {
		h.stay(c, end)
	}
	h.move(c, v, start, end)
}

// readDigit reads a digit of base64, in either alphabet of RFC 4648, broken
// over lines, and with the escapes that JSON and URLs add.
func (h *hunt) readDigit(c reading) {
	m, i := &h.m, c.at
	for {
		i, _ = m.skipGap(i)
		if m.byteAt(i) != '\\' {
			break
		}
		b, end := m.readByte(i + 1)
		if b != 'n' && b != 'r' {
			break
		}
		i = end
		h.steps++
	}
	if d, n := m.base64Digit(i); n > 0 {
		h.move(c, rune(d), i, i+n)
	}
}
