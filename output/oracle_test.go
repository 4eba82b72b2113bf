package output

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The oracle compares the text with one value at a time, from each place where
// one may begin, as far as it goes: slow, and independent of the automata.

// oracleSpans returns what the oracle finds in s from the given places.
func oracleSpans(c *Cleaner, s string, starts [shapes]placeSet) []markedSpan {
	m := oracle{matcher{s: s, classes: basicPlane()}}
	var all []markedSpan
	for shape, set := range starts {
		for i := set.nextFrom(0); i < len(s); i = set.nextFrom(i + 1) {
			for _, raw := range c.needles {
				all = append(all, m.matchShape(formShape(shape), i, raw)...)
			}
		}
	}
	return mergeSpans(all)
}

// oracle compares whole values with a text.
type oracle struct{ matcher }

func (m *oracle) matchShape(shape formShape, i int, raw string) (all []markedSpan) {
	add := func(start, end int, ok bool) {
		if ok {
			all = append(all, markedSpan{start, end, markSecret})
		}
	}
	switch shape {
	case shapeText:
		units := splitUnits(raw)
		single := ""
		if !slices.ContainsFunc(units, func(u needleUnit) bool { return u.optional }) {
			single = toPlainText(raw)
		}
		end, ok := m.matchText(i, units, single)
		if !ok && single != "" {
			end, ok = m.matchSpaced(i, units)
		}
		add(i, end, ok)
	case shapeHex:
		end, ok := m.matchHex(i, raw)
		add(i, end, ok)
	case shapeBase64:
		for _, raw := range lineEndings(raw) {
			for offset := range 3 {
				digits, lead, trail := base64Digits(raw, offset)
				end, ok := m.matchBase64(i, digits)
				start := i
				if ok && lead && start > 0 && isBase64(m.s[start-1]) {
					start--
				}
				if ok {
					end = m.paddingEnd(end, trail)
				}
				add(start, end, ok)
			}
		}
	}
	return all
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
func (m *oracle) matchText(i int, units []needleUnit, single string) (int, bool) {
	if single != "" && strings.HasPrefix(m.s[i:], single) {
		return i + len(single), true
	}
	var cur indexSet
	cur.add(i)
	for k := range units {
		u := &units[k]
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
func (m *oracle) matchSpaced(i int, units []needleUnit) (int, bool) {
	const most = 3
	for k := range units {
		if k > 0 {
			p := i
			for n := 0; n < most && m.byteAt(i) == ' '; n++ {
				i, _ = m.skipWideGap(i + 1)
			}
			if i == p {
				return 0, false
			}
		}
		if !strings.HasPrefix(m.s[i:], units[k].text) {
			return 0, false
		}
		i += len(units[k].text)
	}
	return i, true
}

// matchHex compares the bytes of a needle with a dump at i: two digits each, in
// either case, with the separators that dumps use.
func (m *oracle) matchHex(i int, raw string) (int, bool) {
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

// matchBase64 compares digits with the text at i, in either alphabet of RFC
// 4648, broken over lines, and with the escapes that JSON and URLs add.
func (m *oracle) matchBase64(i int, digits string) (int, bool) {
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

// addControls adds where any control characters at i end, as they are or
// escaped. There may be none; a gap at the end is left to what follows. The
// blanks after a line break go with it.
func (m *oracle) addControls(i int, to *indexSet) {
	for seen := (escapeKind{}); ; {
		p, _ := m.skipGap(i)
		if e := m.escapeKindAt(p); e != seen {
			// An escape of another kind may be what comes after.
			seen = e
			to.add(i)
		}
		c, end := m.readControl(p)
		if c < 0 {
			to.add(i)
			return
		}
		if m.breaksLine(c) {
			var plus int
			end, plus = m.skipIndent(end)
			to.add(plus)
		}
		i = end
	}
}

// escapeKind tells escapes apart: its first byte, how many backslashes, and
// what follows them.
type escapeKind struct {
	lead, follows byte
	slashes       int
}

// escapeKindAt returns the kind of escape that may begin at i.
func (m *oracle) escapeKindAt(i int) escapeKind {
	e := escapeKind{lead: m.byteAt(i)}
	if e.lead == '\\' {
		var k int
		k, e.slashes = m.skipBackslashes(i)
		e.follows, _ = m.readByte(k)
	}
	return e
}

// addBlanks adds where the blanks at i end. Any run of them stands for any
// other, a line break too, since text is reflowed; a plus sign is a blank in
// a query.
func (m *oracle) addBlanks(i int, u *needleUnit, to *indexSet) {
	found, seen := false, byte(0)
	for {
		p, line := m.skipGap(i)
		found = found || line
		if b := m.byteAt(p); found && b != seen && b != ' ' {
			// What follows may spell a blank, or be what comes after them.
			seen = b
			to.add(p)
		}
		var one indexSet
		m.addSpellings(p, u, &one)
		if one.n > 0 {
			i, found = one.at[0], true
			continue
		}
		c, end := m.readControl(p)
		if !u.optional || c < 0 {
			if found {
				to.add(p)
			}
			return
		}
		i = end
	}
}

// addSpellings adds where each way to write u at i ends.
func (m *oracle) addSpellings(i int, u *needleUnit, to *indexSet) {
	if strings.HasPrefix(m.s[i:], u.text) {
		to.add(i + len(u.text))
	}
	switch b := m.byteAt(i); {
	case b >= utf8.RuneSelf:
		if r, n := decodeRune(m.s, i); r >= 0xFF01 && r <= 0xFF5E && r-0xFEE0 == u.r {
			to.add(i + n) // its full-width form
		}
	}
	switch m.byteAt(i) {
	case '%':
		to.add(m.skipHexBytes(i, u.text, '%', 0))
	case '+':
		if u.r == ' ' {
			to.add(i + 1)
		}
	case '&':
		to.add(m.skipEntity(i, u))
	case '\\':
		m.addBackslashed(i, u, to)
	}
}

// skipHexBytes returns the index after the bytes of text written in
// hexadecimal, each after slashes backslashes and the lead, or -1.
func (m *oracle) skipHexBytes(i int, text string, lead byte, slashes int) int {
	for _, want := range []byte(text) {
		n := 0
		if slashes > 0 {
			i, n = m.skipBackslashes(i)
		}
		b, p := m.readByte(i)
		v, end := m.readHexNumber(p, 2)
		if n != slashes || b != lead || v != rune(want) {
			return -1
		}
		i = end
	}
	return i
}

// addBackslashed adds where the escapes of u at i end: those of JSON, C and
// shells, with any number of backslashes from escaping more than once.
func (m *oracle) addBackslashed(i int, u *needleUnit, to *indexSet) {
	if u.r == '\\' {
		m.addBackslashRun(i, len(u.text), to)
	}
	k, n := m.skipBackslashes(i)
	c, end := m.readByte(k)
	switch {
	case c == 'u':
		v, end := m.readHexNumber(end, 4)
		if v >= 0xD800 && v < 0xDC00 {
			if lo, after := m.lowSurrogate(end, n); lo != 0 {
				v, end = (v-0xD800)<<10+lo-0xDC00+0x10000, after
			}
		}
		if v == u.r {
			to.add(end)
		}
	case c == 'x':
		to.add(m.skipHexBytes(i, u.text, 'x', n))
	case c-'0' < 8 && len(u.text) == 1:
		d, p := m.readByte(end)
		e, p := m.readByte(p)
		if d-'0' < 8 && e-'0' < 8 && rune(c-'0')<<6|rune(d-'0')<<3|rune(e-'0') == u.r {
			to.add(p)
		}
	case !isAlnum(c) && c != 0 && strings.HasPrefix(m.s[end-1:], u.text):
		to.add(end - 1 + len(u.text))
	}
}

// addBackslashRun adds where a run of count backslashes at i ends, escaped up
// to three times.
func (m *oracle) addBackslashRun(i, count int, to *indexSet) {
	const most = 8
	for n := 1; n <= most*count; n++ {
		b, end := m.readByte(i)
		if b != '\\' {
			return
		}
		if n == count || n == 2*count || n == 4*count || n == most*count {
			to.add(end)
		}
		i = end
	}
}

// skipEntity returns the index after an HTML character reference to u at i, or
// -1.
func (m *oracle) skipEntity(i int, u *needleUnit) int {
	var buf [10]byte
	name := buf[:0]
	b, i := m.readByte(i)
	for b != ';' {
		if b, i = m.readByte(i); b == 0 || len(name) == len(buf) {
			return -1
		}
		name = append(name, b)
	}
	if entityRune(string(name[:len(name)-1])) != u.r {
		return -1
	}
	return i
}
