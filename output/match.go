package output

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxBackslashes bounds the escaping of escapes: JSON in JSON in JSON.
const maxBackslashes = 15

// form compares a form of a needle with the text at start.
func (w *sweeper) form(id, start int) {
	f := &w.c.forms[id]
	n := &w.c.needles[f.needle]
	m := matcher{s: w.s, classes: basicPlane()}
	x := span{start: start, mark: markSecret}
	var ok bool
	switch f.shape {
	case shapeText:
		if x.end, ok = m.text(start, n); !ok {
			x.end, ok = m.spaced(start, n)
		}
	case shapeHex:
		x.end, ok = m.hex(start, n.raw)
	case shapeBase64:
		if x.end, ok = m.base64(start, f.digits); ok {
			x = m.widen(x, f)
		}
	}
	if ok {
		w.add(x)
	}
}

// matcher compares needles with a text. Its methods return the index after
// the match.
type matcher struct {
	s       string
	classes *classes
}

// at returns the byte at i, 0 beyond the end.
func (m *matcher) at(i int) byte {
	if i < len(m.s) {
		return m.s[i]
	}
	return 0
}

// gap returns the index after what may split a secret, and whether a line
// break is part of it: the indentation that follows one belongs to it.
func (m *matcher) gap(i int) (int, bool) {
	line := false
	for i < len(m.s) {
		switch b := m.s[i]; {
		case b == '\n' || b == '\r':
			line = true
		case b == '\t', b == ' ' && line:
		case b < utf8.RuneSelf:
			return i, line
		default:
			r, n := next(m.s, i)
			if m.classes.of(r)&hidden == 0 {
				return i, line
			}
			i += n - 1
		}
		i++
	}
	return i, line
}

// places is a small set of indices: where a match may stand when the text can
// be read in two ways, such as "%25" for the needles "%2…" and "%".
type places struct {
	at [4]int
	n  int
}

func (p *places) add(i int) {
	if i < 0 || p.n == len(p.at) {
		return
	}
	for _, x := range p.at[:p.n] {
		if x == i {
			return
		}
	}
	p.at[p.n] = i
	p.n++
}

// text compares a needle with the text at i, where each character may be
// written as it is or escaped.
func (m *matcher) text(i int, n *needle) (int, bool) {
	if n.single != "" && strings.HasPrefix(m.s[i:], n.single) {
		return i + len(n.single), true
	}
	var cur places
	cur.add(i)
	for k := range n.units {
		u := &n.units[k]
		var then places
		for _, p := range cur.at[:cur.n] {
			if u.optional {
				then.add(m.controls(p))
				continue
			}
			q, line := m.gap(p)
			if u.r == ' ' && line {
				then.add(q)
			}
			m.spellings(q, u, &then)
		}
		if then.n == 0 {
			return 0, false
		}
		cur = then
	}
	end := 0
	for _, p := range cur.at[:cur.n] {
		end = max(end, p)
	}
	return end, true
}

// controls returns the index after any control characters at i, as they are
// or escaped. There may be none.
func (m *matcher) controls(i int) int {
	for {
		i, _ = m.gap(i)
		k := i
		for m.at(k) == '\\' && k-i < maxBackslashes {
			k++
		}
		switch c := m.at(k); {
		case k > i && (c == 'n' || c == 'r' || c == 't' || c == 'f' || c == 'b'):
			k++
		case k > i && c == 'u' && m.number(k+1, 4) < 0x20:
			k += 5
		case k > i && c == 'x' && m.number(k+1, 2) < 0x20:
			k += 3
		case k == i && c == '%' && m.number(k+1, 2) < 0x20:
			k += 3
		default:
			return i
		}
		for m.at(k) == ' ' {
			k++
		}
		i = k
	}
}

// number reads digits hexadecimal digits at i; it returns a number beyond
// Unicode when they are not there.
func (m *matcher) number(i, digits int) rune {
	v := rune(0)
	for range digits {
		d := hexValue(m.at(i))
		if d > 15 {
			return 1 << 24
		}
		v = v<<4 | rune(d)
		i++
	}
	return v
}

// spellings adds where each way to write u at i ends.
func (m *matcher) spellings(i int, u *unit, to *places) {
	if strings.HasPrefix(m.s[i:], u.text) {
		to.add(i + len(u.text))
	}
	switch m.at(i) {
	case '%':
		to.add(m.bytes(i, u.text, "%"))
	case '+':
		if u.r == ' ' {
			to.add(i + 1)
		}
	case '&':
		to.add(m.entity(i, u))
	case '\\':
		m.backslashed(i, u, to)
	}
}

// bytes returns the index after the bytes of text written in hexadecimal,
// each after the lead, or -1.
func (m *matcher) bytes(i int, text, lead string) int {
	for k := range len(text) {
		if !strings.HasPrefix(m.s[i:], lead) || m.number(i+len(lead), 2) != rune(text[k]) {
			return -1
		}
		i += len(lead) + 2
	}
	return i
}

// backslashed adds where the escapes of u at i end: those of JSON, C and
// shells, with any number of backslashes from escaping more than once.
func (m *matcher) backslashed(i int, u *unit, to *places) {
	k := i
	for m.at(k) == '\\' && k-i < maxBackslashes {
		k++
	}
	if u.r == '\\' {
		for n := 2; n <= k-i; n *= 2 {
			to.add(i + n)
		}
		if m.at(k) != 'u' && m.at(k) != 'x' {
			return
		}
	}
	lead := m.s[i:k]
	switch c := m.at(k); {
	case c == 'u':
		v := m.number(k+1, 4)
		end := k + 5
		if hi, lo := v, m.low(end, lead); hi >= 0xD800 && hi < 0xDC00 && lo != 0 {
			v = (hi-0xD800)<<10 + lo - 0xDC00 + 0x10000
			end += len(lead) + 5
		}
		if v == u.r {
			to.add(end)
		}
	case c == 'x':
		to.add(m.bytes(i, u.text, lead+"x"))
	case c-'0' < 8 && len(u.text) == 1 && k+3 <= len(m.s):
		d, e := m.s[k+1]-'0', m.s[k+2]-'0'
		if d < 8 && e < 8 && rune(c-'0')<<6|rune(d)<<3|rune(e) == u.r {
			to.add(k + 3)
		}
	case !isAlnum(c) && strings.HasPrefix(m.s[k:], u.text):
		to.add(k + len(u.text))
	}
}

// low returns the low surrogate that is escaped at i, or 0.
func (m *matcher) low(i int, lead string) rune {
	if i > len(m.s) || !strings.HasPrefix(m.s[i:], lead) || m.at(i+len(lead)) != 'u' {
		return 0
	}
	if v := m.number(i+len(lead)+1, 4); v >= 0xDC00 && v < 0xE000 {
		return v
	}
	return 0
}

// entity returns the index after an HTML character reference to u at i, or
// -1.
func (m *matcher) entity(i int, u *unit) int {
	const longest = 10
	end := strings.IndexByte(m.s[i:min(len(m.s), i+longest)], ';')
	if end < 0 {
		return -1
	}
	v := rune(-1)
	switch name := m.s[i+1 : i+end]; {
	case name == "amp":
		v = '&'
	case name == "lt":
		v = '<'
	case name == "gt":
		v = '>'
	case name == "quot":
		v = '"'
	case name == "apos":
		v = '\''
	case name == "nbsp":
		v = ' '
	case strings.HasPrefix(name, "#x") || strings.HasPrefix(name, "#X"):
		v = m.number(i+3, len(name)-2)
	case strings.HasPrefix(name, "#"):
		if d, err := strconv.ParseUint(name[1:], 10, 16); err == nil {
			v = rune(d)
		}
	}
	if v != u.r {
		return -1
	}
	return i + end + 1
}

// spaced compares a needle with text that has blanks after every character.
func (m *matcher) spaced(i int, n *needle) (int, bool) {
	const most = 3
	if n.single == "" {
		return 0, false
	}
	for k := range n.units {
		if k > 0 {
			p := i
			for m.at(i) == ' ' && i-p < most {
				i++
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
