package output

import (
	"math"
	"math/bits"
	"slices"
)

const (
	// maxReadings bounds the ways to read one place of a text at once. Where
	// there are more, the rest of the text is withheld.
	maxReadings = 64
	// shallow is the number of characters under which what is left of a longer
	// beginning is followed only where an anchor stands.
	shallow = 8
	// spareSteps is how many steps are remembered without a look at what is
	// still needed.
	spareSteps = 1 << 12
)

// placeSet is a set of places in a text.
type placeSet []uint64

func (s placeSet) add(i int) { s[i/64] |= 1 << (i % 64) }

// containsAny reports whether any place from first on and before end is in the
// set.
func (s placeSet) containsAny(first, end int) bool {
	return s[:(end+63)/64].nextFrom(first) < end
}

// nextFrom returns the first place at or behind i, a large number when there
// is none.
func (s placeSet) nextFrom(i int) int {
	for w := i / 64; w < len(s); w++ {
		word := s[w]
		if w == i/64 {
			word &= math.MaxUint64 << (i % 64)
		}
		if word != 0 {
			return 64*w + bits.TrailingZeros64(word)
		}
	}
	return math.MaxInt
}

// hunt follows the text from all places where a known value may begin, with one
// automaton for all values of a shape. Escapes can be read in several ways, each
// of which is a reading; two that come to the same place become one where the
// characters of the one end with those of the other. So a place is looked at a
// bounded number of times, whatever the values are and however often they begin.
type hunt struct {
	m      matcher
	shape  formShape
	a      *automaton
	starts placeSet
	trail  trail
	// live are the readings to go on with, that of the first place last; group
	// are those that are at one place.
	live, group []reading
	// seed is the next start, next the first place that was not looked at.
	seed, next int
	// found is what was found, without overlap.
	found []markedSpan
	// steps is how many characters, readings and links were looked at.
	steps int
}

// reading is one way to read the text up to a place.
type reading struct {
	at int
	// node holds the characters that are the beginning of a value, step the last
	// one of them.
	node, step int32
	// spaced says that blanks stand between all characters.
	spaced bool
	// from, to and end are the last find: its first and last character by
	// number, and where it ends.
	from, to, end int
	// early is where something begins that was given up for this reading, whose
	// characters up to the number until hold it; 0 for nothing.
	early, until int
}

// forget drops the steps that are no longer needed.
func (h *hunt) forget() {
	if len(h.live) == 0 {
		h.trail.steps = h.trail.steps[:0]
		return
	}
	if c := &h.live[0]; len(h.live) == 1 && h.isCrowded(c) {
		c.step = h.trail.keep(c.step, int(h.a.nodes[c.node].depth))
	}
}

// isCrowded reports whether most steps are no longer needed when c is the only
// reading.
func (h *hunt) isCrowded(c *reading) bool {
	return len(h.trail.steps) > spareSteps+4*int(h.a.nodes[c.node].depth)
}

// join adds what was found, joined with what it overlaps. It ends behind
// everything found before, or where that ends.
func (h *hunt) join(x markedSpan) {
	n := len(h.found)
	for ; n > 0 && h.found[n-1].end > x.start; n-- {
		x.start = min(x.start, h.found[n-1].start)
		x.end = max(x.end, h.found[n-1].end)
	}
	h.found = append(h.found[:n], x)
}

// startOf returns where the characters of a node begin that c ends with.
func (h *hunt) startOf(c *reading, node int32) int {
	return h.trail.startOf(c.step, int(h.a.nodes[node].depth))
}

// isAnchored reports whether a value may begin in what c holds. The anchor may
// stand a little behind: at another of several backslashes, or in what was read
// in another way.
func (h *hunt) isAnchored(c *reading) bool {
	h.steps++
	start := h.startOf(c, c.node)
	if h.trail.steps[c.step].count-int(h.a.nodes[c.node].depth) < c.until {
		start = min(start, c.early)
	}
	return h.starts.containsAny(start, c.at)
}

// push adds a reading to go on with. Where another one is at its place, and the
// characters of the one end with those of the other, only the first is kept:
// what follows makes a value of both or of none.
func (h *hunt) push(c reading) {
	i := len(h.live)
	if i == 0 {
		h.live = append(h.live, c)
		return
	}
	for i > 0 && h.live[i-1].at < c.at {
		i--
	}
	first := i
	for ; first > 0 && h.live[first-1].at == c.at; first-- {
		h.steps++
		if o := &h.live[first-1]; o.spaced == c.spaced && h.a.endsWith(o.node, c.node) {
			h.absorb(o, &c)
			return
		}
	}
	kept := first
	for k := first; k < i; k++ {
		if o := h.live[k]; o.spaced == c.spaced && h.a.endsWith(c.node, o.node) {
			h.absorb(&c, &o)
			continue
		}
		h.live[kept] = h.live[k]
		kept++
	}
	h.live = slices.Replace(h.live, kept, i, c)
}

// absorb notes in c where o begins, which is given up for it, unless both read
// the same characters at the same places.
func (h *hunt) absorb(c, o *reading) {
	early := h.startOf(o, o.node)
	if o.until > 0 {
		early = min(early, o.early)
	} else if h.agree(c.step, o.step, int(h.a.nodes[o.node].depth)) {
		return
	}
	if c.until > 0 {
		early = min(early, c.early)
	}
	c.early, c.until = early, h.trail.steps[c.step].count
}

// agree reports whether the last count characters up to two steps begin at the
// same places. It may be false where they do and are many.
func (h *hunt) agree(a, b int32, count int) bool {
	const most = 16
	for range min(count, most) {
		if a == b {
			return true
		}
		h.steps++
		s, o := &h.trail.steps[a], &h.trail.steps[b]
		if s.at != o.at {
			return false
		}
		a, b = s.last, o.last
		count--
	}
	return count == 0 || a == b
}

// isLarge reports whether the hunt has kept more than so many of anything.
func (h *hunt) isLarge(most int) bool {
	return cap(h.trail.steps) > most || cap(h.live) > most || cap(h.found) > most
}
