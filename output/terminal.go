package output

import "strings"

// Control functions of ECMA-48 (fifth edition, section 5) in their 7-bit form
// ESC Fe; the 8-bit form C1 is 0x40 higher.
const (
	escape = 0x1B
	dcs    = 'P'
	sos    = 'X'
	csi    = '['
	osc    = ']'
	pm     = '^'
	apc    = '_'
)

// sequenceEnd returns the end of the escape sequence at i, complete or not.
func (p *plainPass) sequenceEnd(i int) int {
	i++
	if i == len(p.s) {
		return i
	}
	b := p.s[i]
	if end := p.bodyEnd(b, i+1); end > i+1 {
		return end
	}
	switch {
	case b >= 0x20 && b < 0x30:
		for i < len(p.s) && p.s[i] >= 0x20 && p.s[i] < 0x30 {
			i++
		}
		if i < len(p.s) && p.s[i] >= 0x30 && p.s[i] < 0x7F {
			i++
		}
		return i
	case b >= 0x30 && b < 0x7F:
		return i + 1
	default:
		return i
	}
}

// paramsEnd returns the end of a control sequence whose parameters begin at i.
// One that breaks off ends where it does.
func (p *plainPass) paramsEnd(i int) int {
	for i < len(p.s) && p.s[i] >= 0x20 && p.s[i] < 0x40 {
		i++
	}
	if i < len(p.s) && p.s[i] >= 0x40 && p.s[i] < 0x7F {
		i++
	}
	return i
}

// stringEnd returns the end of a control string whose body begins at i. BEL,
// ST, CAN and SUB end it, and so does the next escape sequence. A command
// string (OSC) stays on its line; one without an end goes to the end of its
// line only, so that a lone introducer cannot swallow the rest of the text.
func (p *plainPass) stringEnd(i int, lines bool) int {
	eol := -1
	for j := i; j < len(p.s); j++ {
		switch b := p.s[j]; {
		case b == 0x07 || b == 0x18 || b == 0x1A:
			return j + 1
		case b == escape:
			if j+1 < len(p.s) && p.s[j+1] == '\\' {
				return j + 2
			}
			return j
		case b == 0xC2 && j+1 < len(p.s) && p.s[j+1] == 0x9C:
			return j + 2
		case b == '\n' && eol < 0:
			eol = j
			if !lines || j < p.open {
				return j
			}
		}
	}
	if eol >= 0 {
		// The tail has no terminator at all, so the next search may stop
		// at its line's end.
		p.open = len(p.s)
		return eol
	}
	return len(p.s)
}

// bodyEnd returns the end of what a control function introduces, whose body
// begins at i. It is i for one without a body.
func (p *plainPass) bodyEnd(control byte, i int) int {
	switch control {
	case csi:
		return p.paramsEnd(i)
	case osc:
		return p.stringEnd(i, false)
	case dcs, sos, pm, apc:
		return p.stringEnd(i, true)
	default:
		return i
	}
}

// rawEnd returns the end of what the bare byte b at i introduces, or i when it
// introduces nothing. A terminal reads such bytes only outside UTF-8, where
// the same bytes are also letters of the Windows code pages, so a string
// counts only when it ends on its line.
func (p *plainPass) rawEnd(i int, b byte) int {
	switch b - 0x40 {
	case csi:
		return p.paramsEnd(i + 1)
	case osc, dcs, sos, pm, apc:
		return p.rawStringEnd(i)
	default:
		return i
	}
}

// rawStringEnd returns the end of the control string at i, or i when it does
// not end on its line.
func (p *plainPass) rawStringEnd(i int) int {
	if i < p.lineOpen {
		return i
	}
	line := p.s[i:]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	for j := 1; j < len(line); j++ {
		switch {
		case line[j] == 0x07 || line[j] == 0x9C:
			return i + j + 1
		case line[j] == escape && j+1 < len(line) && line[j+1] == '\\':
			return i + j + 2
		}
	}
	p.lineOpen = i + len(line)
	return i
}
