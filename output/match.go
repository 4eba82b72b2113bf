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

// read returns the byte after any gap at i, 0 beyond the end, and the index
// after it. What escapes consist of is read so, because they may be split too.
func (m *matcher) read(i int) (byte, int) {
	i, _ = m.gap(i)
	return m.at(i), i + 1
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
			if u.r == ' ' {
				m.blank(p, u, &then)
				continue
			}
			q, _ := m.gap(p)
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
// or escaped. There may be none; a gap at the end is left to what follows.
func (m *matcher) controls(i int) int {
	for {
		p, _ := m.gap(i)
		c, end := m.control(p)
		if c < 0 {
			return i
		}
		for m.breaks(c) && m.at(end) == ' ' {
			end++
		}
		i = end
	}
}

// breaks reports whether a character ends a line.
func (m *matcher) breaks(r rune) bool {
	return r == '\n' || r == '\r' || m.classes.of(r)&lineBreak != 0
}

// control reads the escape of one character that a needle may have lost; it
// is -1 when there is none.
func (m *matcher) control(i int) (r rune, end int) {
	k, n := m.backslashes(i)
	c, end := m.read(k)
	switch {
	case n > 0 && c != 0 && strings.IndexByte("nrtfbv", c) >= 0:
		if c == 'n' || c == 'r' {
			return '\n', end
		}
		return 0, end
	case n > 0 && c == 'u':
		r, end = m.number(end, 4)
	case n > 0 && c == 'x', n == 0 && c == '%':
		r, end = m.number(end, 2)
	default:
		return -1, end
	}
	if r != '\n' && r != '\t' && (r > 0xFFFF || m.classes.of(r)&(hidden|lineBreak) == 0) {
		return -1, end
	}
	return r, end
}

// blank adds where the blanks at i end. Any run of them stands for any other,
// a line break too, since text is reflowed; a plus sign is a blank in a query.
func (m *matcher) blank(i int, u *unit, to *places) {
	found := false
	for {
		p, line := m.gap(i)
		found = found || line
		if found && m.at(p) == '+' {
			to.add(p)
		}
		var one places
		m.spellings(p, u, &one)
		if one.n == 0 {
			if found {
				to.add(p)
			}
			return
		}
		i, found = one.at[0], true
	}
}

// backslashes returns the index after the backslashes at i, and their number.
func (m *matcher) backslashes(i int) (end, n int) {
	for n < maxBackslashes {
		b, k := m.read(i)
		if b != '\\' {
			break
		}
		i = k
		n++
	}
	return i, n
}

// number reads hexadecimal digits at i; it returns a number beyond Unicode
// when they are not there.
func (m *matcher) number(i, digits int) (v rune, end int) {
	for range digits {
		b, k := m.read(i)
		d := hexValue(b)
		if d > 15 {
			return 1 << 24, k
		}
		v, i = v<<4|rune(d), k
	}
	return v, i
}

// spellings adds where each way to write u at i ends.
func (m *matcher) spellings(i int, u *unit, to *places) {
	if strings.HasPrefix(m.s[i:], u.text) {
		to.add(i + len(u.text))
	}
	switch m.at(i) {
	case '%':
		to.add(m.bytes(i, u.text, '%', 0))
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

// bytes returns the index after the bytes of text written in hexadecimal, each
// after slashes backslashes and the lead, or -1.
func (m *matcher) bytes(i int, text string, lead byte, slashes int) int {
	for _, want := range []byte(text) {
		n := 0
		if slashes > 0 {
			i, n = m.backslashes(i)
		}
		b, p := m.read(i)
		v, end := m.number(p, 2)
		if n != slashes || b != lead || v != rune(want) {
			return -1
		}
		i = end
	}
	return i
}

// backslashed adds where the escapes of u at i end: those of JSON, C and
// shells, with any number of backslashes from escaping more than once.
func (m *matcher) backslashed(i int, u *unit, to *places) {
	if u.r == '\\' {
		m.run(i, len(u.text), to)
	}
	k, n := m.backslashes(i)
	c, end := m.read(k)
	switch {
	case c == 'u':
		v, end := m.number(end, 4)
		if v >= 0xD800 && v < 0xDC00 {
			if lo, after := m.low(end, n); lo != 0 {
				v, end = (v-0xD800)<<10+lo-0xDC00+0x10000, after
			}
		}
		if v == u.r {
			to.add(end)
		}
	case c == 'x':
		to.add(m.bytes(i, u.text, 'x', n))
	case c-'0' < 8 && len(u.text) == 1:
		d, p := m.read(end)
		e, p := m.read(p)
		if d-'0' < 8 && e-'0' < 8 && rune(c-'0')<<6|rune(d-'0')<<3|rune(e-'0') == u.r {
			to.add(p)
		}
	case !isAlnum(c) && c != 0 && strings.HasPrefix(m.s[end-1:], u.text):
		to.add(end - 1 + len(u.text))
	}
}

// run adds where a run of count backslashes at i ends, escaped up to three
// times.
func (m *matcher) run(i, count int, to *places) {
	const most = 8
	for n := 1; n <= most*count; n++ {
		b, end := m.read(i)
		if b != '\\' {
			return
		}
		if n == count || n == 2*count || n == 4*count || n == most*count {
			to.add(end)
		}
		i = end
	}
}

// low returns the low surrogate that is escaped at i, or 0.
func (m *matcher) low(i, slashes int) (v rune, end int) {
	i, n := m.backslashes(i)
	b, i := m.read(i)
	v, end = m.number(i, 4)
	if n != slashes || b != 'u' || v < 0xDC00 || v > 0xDFFF {
		return 0, i
	}
	return v, end
}

// entity returns the index after an HTML character reference to u at i, or
// -1.
func (m *matcher) entity(i int, u *unit) int {
	var buf [10]byte
	name := buf[:0]
	b, i := m.read(i)
	for b != ';' {
		if b, i = m.read(i); b == 0 || len(name) == len(buf) {
			return -1
		}
		name = append(name, b)
	}
	if entityRune(string(name[:len(name)-1])) != u.r {
		return -1
	}
	return i
}

// entityRune returns the character of a reference, -1 when it is not one of
// those that encoders write.
func entityRune(name string) rune {
	switch name {
	case "amp":
		return '&'
	case "lt":
		return '<'
	case "gt":
		return '>'
	case "quot":
		return '"'
	case "apos":
		return '\''
	case "nbsp":
		return ' '
	}
	base, digits := 10, strings.TrimPrefix(name, "#")
	if hexa, ok := strings.CutPrefix(strings.ToLower(digits), "x"); ok {
		base, digits = 16, hexa
	}
	v, err := strconv.ParseUint(digits, base, 20)
	if err != nil || name[0] != '#' {
		return -1
	}
	return rune(v)
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
