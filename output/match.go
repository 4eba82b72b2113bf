package output

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// matchForm compares a form of a needle with the text at start.
func (w *sweeper) matchForm(id, start int) {
	f := &w.c.forms[id]
	n := &w.c.needles[f.needle]
	m := matcher{s: w.s, classes: basicPlane()}
	x := markedSpan{start: start, mark: markSecret}
	var ok bool
	switch f.shape {
	case shapeText:
		if x.end, ok = m.matchText(start, n); !ok {
			x.end, ok = m.matchSpaced(start, n)
		}
	case shapeHex:
		x.end, ok = m.matchHex(start, n.raw)
	case shapeBase64:
		if x.end, ok = m.matchBase64(start, f.digits); ok {
			x = m.widenSpan(x, f)
		}
	}
	if ok {
		w.addSpan(x)
	}
}

// matcher compares needles with a text. Its methods return the index after
// the match.
type matcher struct {
	s       string
	classes *classTable
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
	i, _ = m.skipGap(i)
	return m.byteAt(i), i + 1
}

// skipGap returns the index after what may split a secret, and whether a line
// break is part of it: the indentation that follows one belongs to it.
func (m *matcher) skipGap(i int) (int, bool) {
	line := false
	for i < len(m.s) {
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

// indexSet is a small set of indices: where a match may stand when the text can
// be read in two ways, such as "%25" for the needles "%2…" and "%".
type indexSet struct {
	at [8]int
	n  int
}

func (p *indexSet) add(i int) {
	if i >= 0 && p.n < len(p.at) && !slices.Contains(p.at[:p.n], i) {
		p.at[p.n] = i
		p.n++
	}
}

// matchText compares a needle with the text at i, where each character may be
// written as it is or escaped.
func (m *matcher) matchText(i int, n *needle) (int, bool) {
	if n.single != "" && strings.HasPrefix(m.s[i:], n.single) {
		return i + len(n.single), true
	}
	var cur indexSet
	cur.add(i)
	for k := range n.units {
		u := &n.units[k]
		var then indexSet
		for _, p := range cur.at[:cur.n] {
			if u.r == ' ' {
				m.addBlanks(p, u, &then)
				continue
			}
			if u.optional {
				m.addControls(p, &then)
				continue
			}
			q, line := m.skipGap(p)
			m.addSpellings(q, u, &then)
			if wide, broken := m.skipWideGap(q); wide > q {
				q, line = wide, line || broken
				m.addSpellings(q, u, &then)
			}
			if after := m.skipLineSign(q); line && after > q {
				m.addSpellings(after, u, &then)
			}
		}
		if then.n == 0 {
			return 0, false
		}
		cur = then
	}
	return slices.Max(cur.at[:cur.n]), true
}

// matchSpaced compares a needle with text that has blanks after every
// character.
func (m *matcher) matchSpaced(i int, n *needle) (int, bool) {
	const most = 3
	if n.single == "" {
		return 0, false
	}
	for k := range n.units {
		if k > 0 {
			p := i
			for n := 0; n < most && m.byteAt(i) == ' '; n++ {
				i, _ = m.skipWideGap(i + 1)
			}
			if i == p {
				return 0, false
			}
		}
		if !strings.HasPrefix(m.s[i:], n.units[k].text) {
			return 0, false
		}
		i += len(n.units[k].text)
	}
	return i, true
}
