package output

import (
	"slices"
	"sync"
)

// newFormAutomaton returns the automaton for all needles in one shape.
func newFormAutomaton(needles []string, shape formShape) *automaton {
	a := newAutomaton(shape)
	for _, raw := range needles {
		switch shape {
		case shapeText:
			a.addPattern(collapseRuns(visibleChars(raw)), false, false)
			// Combining marks may be cut in the text.
			a.addPattern(collapseRuns(visibleChars(toPlainText(raw))), false, false)
		case shapeHex:
			a.addPattern(bytesAsChars(raw), false, false)
		case shapeBase64:
			for _, raw := range lineEndings(raw) {
				for offset := range 3 {
					digits, lead, trail := base64Digits(raw, offset)
					a.addPattern(bytesAsChars(digits), lead, trail)
				}
			}
		}
	}
	a.link()
	return a
}

// visibleChars returns the characters of a needle but those that the text may
// have lost.
func visibleChars(raw string) []rune {
	var chars []rune
	for _, u := range splitUnits(raw) {
		if !u.optional || u.r == ' ' {
			chars = append(chars, u.r)
		}
	}
	return chars
}

// collapseRuns returns chars with one blank for several and one backslash for
// several: text is reflowed, and escaped more than once.
func collapseRuns(chars []rune) []rune {
	n := 0
	for _, r := range chars {
		if n > 0 && r == chars[n-1] && (r == ' ' || r == '\\') {
			continue
		}
		chars[n] = r
		n++
	}
	return chars[:n]
}

func bytesAsChars(s string) []rune {
	chars := make([]rune, len(s))
	for i := range len(s) {
		chars[i] = rune(s[i])
	}
	return chars
}

// addStart notes that a known value may begin at i.
func (w *sweeper) addStart(shape formShape, i int) {
	if w.hunts == nil {
		w.hunts = huntPool.Get().(*hunts)
	}
	starts := w.hunts.starts[shape]
	if len(starts) == 0 {
		starts = w.hunts.makeStarts(shape, len(w.s))
	}
	starts.add(i)
}

// huntNeedles notes the known values in the text.
func (w *sweeper) huntNeedles() {
	if w.hunts == nil {
		return
	}
	h := &w.hunts.hunt
	h.m = matcher{s: w.s, classes: w.classes}
	for shape, starts := range w.hunts.starts {
		if len(starts) > 0 {
			h.starts = starts
			h.run(formShape(shape), w.c.automata[shape]())
			w.spans = append(w.spans, h.found...)
			h.found = h.found[:0]
		}
	}
	w.steps = h.steps + h.m.looks
	w.hunts.release()
}

// hunts is what the hunts of one text need.
type hunts struct {
	hunt hunt
	// starts holds for each shape where a known value may begin.
	starts [shapes]placeSet
}

var huntPool = sync.Pool{New: func() any { return new(hunts) }}

// makeStarts returns an empty set for the starts of a shape in a text of so many
// bytes.
func (h *hunts) makeStarts(shape formShape, size int) placeSet {
	h.starts[shape] = slices.Grow(h.starts[shape], size/64+1)[:size/64+1]
	clear(h.starts[shape])
	return h.starts[shape]
}

// release gives what is small back, without anything of the text.
func (h *hunts) release() {
	const most = 1 << 15
	for i := range h.starts {
		if h.starts[i] = h.starts[i][:0]; cap(h.starts[i]) > most {
			return
		}
	}
	if h.hunt.isLarge(most) {
		return
	}
	h.hunt.m, h.hunt.a, h.hunt.starts, h.hunt.steps = matcher{}, nil, nil, 0
	huntPool.Put(h)
}
