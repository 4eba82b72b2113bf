package output

import "unicode/utf8"

// matcher reads what a text says. Its methods return the index after what
// they read.
type matcher struct {
	s       string
	classes *classTable
	// looks is how many bytes and gaps were looked at on the way.
	looks int
}

// byteAt returns the byte at i, 0 beyond the end.
func (m *matcher) byteAt(i int) byte {
	if i < len(m.s) {
		return m.s[i]
	}
	return 0
}

// readByte returns the byte after any gap at i, 0 beyond the end, and the index
// after it. What escapes consist of is read so, because they may be split too.
func (m *matcher) readByte(i int) (byte, int) {
	if i < len(m.s) && m.s[i] > ' ' && m.s[i] < utf8.RuneSelf {
		m.looks++
		return m.s[i], i + 1
	}
	i, _ = m.skipGap(i)
	return m.byteAt(i), i + 1
}

// skipGap returns the index after what may split a secret, and whether a line
// break is part of it: the indentation that follows one belongs to it.
func (m *matcher) skipGap(i int) (int, bool) {
	line := false
	for i < len(m.s) {
		m.looks++
		switch b := m.s[i]; {
		case b == '\n' || b == '\r':
			line = true
		case b == '\t', b == ' ' && line:
		case b < utf8.RuneSelf:
			return i, line
		default:
			r, n := decodeRune(m.s, i)
			if m.classes.classOf(r)&hidden == 0 {
				return i, line
			}
			i += n - 1
		}
		i++
	}
	return i, line
}

// skipWideGap is skipGap with the blanks beyond ASCII that may split a secret
// too.
func (m *matcher) skipWideGap(i int) (int, bool) {
	line := false
	for {
		end, broken := m.skipGap(i)
		line = line || broken
		if m.byteAt(end) < utf8.RuneSelf {
			return end, line
		}
		r, n := decodeRune(m.s, end)
		if m.classes.classOf(r)&blank == 0 {
			return end, line
		}
		i = end + n
	}
}

// skipLineSign returns the index after the sign at i that a diff, a quotation
// or a comment puts in front of a line, and the blanks behind it; i when
// there is none.
func (m *matcher) skipLineSign(i int) int {
	if !isSign(m.byteAt(i)) {
		return i
	}
	for i++; m.byteAt(i) == ' ' || m.byteAt(i) == '\t'; i++ {
	}
	return i
}

// isSign reports whether c may stand in front of each line of a text.
func isSign(c byte) bool {
	switch c {
	case '+', '-', '<', '>', '|', '#', '*':
		return true
	default:
		return false
	}
}
