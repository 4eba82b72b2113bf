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
	// spareRuns is how many runs of characters are remembered without a look at
	// what is still needed.
	spareRuns = 1 << 12
	// sparePasts is the same for pasts; there are never that many readings.
	sparePasts = 1 << 10
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
	// pasts are those of the readings, behind an empty one. isSole says that
	// there is one reading only, without copies.
	pasts  []past
	isSole bool
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
	// number is that of the last character, which is in a run.
	number int
	run    int32
	// node holds the characters that are the beginning of a value.
	node int32
	// past is what was noted of the reading, by its index; 0 for nothing.
	past int32
	// spaced says that blanks stand between all characters.
	spaced bool
}

// past is what has to be known of a reading beside its characters. Readings with
// one origin share it, so that it is never changed.
type past struct {
	// from, to and end are the last find: its first and last character by
	// number, and where it ends.
	from, to, end int
	// early is where something begins that was given up for this reading, whose
	// characters up to the number until hold it; 0 for nothing.
	early, until int
}

// run finds all values of a shape.
func (h *hunt) run(shape formShape, a *automaton) {
	h.shape, h.a, h.next = shape, a, 0
	h.live, h.trail.runs, h.pasts = h.live[:0], h.trail.runs[:0], append(h.pasts[:0], past{})
	for h.seed = h.starts.nextFrom(0); ; {
		at := h.seed
		if n := len(h.live); n > 0 {
			at = min(at, h.live[n-1].at)
		}
		if at >= len(h.m.s) {
			return
		}
		if len(h.live) > maxReadings {
			h.withhold()
			return
		}
		h.takeGroup(at)
		alone := len(h.group) == 1 && len(h.live) == 0
		for i := range h.group {
			h.steps++
			h.read(h.group[i], alone)
		}
		if h.seed < h.next {
			h.seed = h.starts.nextFrom(h.next)
		}
		h.forget()
	}
}

// takeGroup takes the readings that are at one place from the live ones, and
// adds those that begin there. One that passes there holds that beginning
// already.
func (h *hunt) takeGroup(at int) {
	n := len(h.live)
	passes := false
	for ; n > 0 && h.live[n-1].at == at; n-- {
		passes = passes || !h.live[n-1].spaced
	}
	h.group = append(h.group[:0], h.live[n:]...)
	h.live = h.live[:n]
	h.next = at + 1
	if at != h.seed {
		return
	}
	if h.shape == shapeText && h.m.byteAt(at+1) == ' ' && h.a.single[h.m.s[at]] {
		if !h.isPassedSpaced(at) {
			h.addSpaced(at)
		}
		passes = passes || !h.a.labels[' '] // no value has a blank behind a character
	} else if h.shape == shapeText {
		h.addSpaced(at)
	}
	if !passes {
		h.group = append(h.group, reading{at: at, run: noRun})
	}
}

// isPassedSpaced reports whether a reading with blanks has read the byte at i and
// nothing behind it: it holds what begins there.
func (h *hunt) isPassedSpaced(i int) bool {
	for n := len(h.live) - 1; n >= 0 && h.live[n].at == i+1; n-- {
		if c := &h.live[n]; c.spaced && h.trail.placeOf(c.run, c.number) == i {
			return true
		}
	}
	return false
}

// forget drops the runs and the pasts that are no longer needed.
func (h *hunt) forget() {
	if len(h.live) == 0 {
		h.trail.runs, h.pasts = h.trail.runs[:0], h.pasts[:1]
		return
	}
	if len(h.pasts) > sparePasts {
		kept := []past{{}}
		for i := range h.live {
			if c := &h.live[i]; c.past > 0 {
				kept = append(kept, h.pasts[c.past])
				c.past = int32(len(kept) - 1)
			}
		}
		h.pasts = append(h.pasts[:0], kept...)
	}
	if c := &h.live[0]; len(h.live) == 1 && h.isCrowded(c) {
		c.run = h.trail.keep(c.run, c.number, int(h.a.nodes[c.node].depth))
	}
}

// isCrowded reports whether most runs are no longer needed when c is the only
// reading.
func (h *hunt) isCrowded(c *reading) bool {
	return len(h.trail.runs) > spareRuns+4*int(h.a.nodes[c.node].depth)
}

// withhold gives up the rest of a text that can be read in too many ways: all
// of it is noted, from the earliest place where a value may begin.
func (h *hunt) withhold() {
	start := len(h.m.s)
	for i := range h.live {
		start = min(start, h.startOf(&h.live[i], h.live[i].node))
	}
	h.join(markedSpan{start, len(h.m.s), markSecret})
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
	return h.trail.placeOf(c.run, c.number-int(h.a.nodes[node].depth)+1)
}

// move goes on with a reading whose next character, from start to end, is r.
func (h *hunt) move(c reading, r rune, start, end int) {
	h.steps++
	if h.a.collapses && (r == ' ' || r == '\\') && r == h.a.nodes[c.node].label {
		if c.at = end; h.a.nodes[c.node].found > 0 {
			h.report(&c)
		}
		h.push(c)
		return
	}
	if h.advance(&c, r, start, end) {
		h.push(c)
	}
}

// stay goes on with a reading behind text that adds no character to it.
func (h *hunt) stay(c reading, end int) {
	if c.node != 0 {
		c.at = end
		h.push(c)
	}
}

// advance is move without the last step; it is false where no value goes on.
func (h *hunt) advance(c *reading, r rune, start, end int) bool {
	v := h.a.nextNode(c.node, r, &h.steps)
	if v == 0 {
		return false
	}
	n := &h.a.nodes[v]
	lost := n.depth <= h.a.nodes[c.node].depth
	c.at, c.node, c.run = end, v, h.trail.add(c.run, c.number, start)
	c.number++
	if lost && n.depth < shallow && !h.isAnchored(c) {
		return false
	}
	if n.found > 0 {
		h.report(c)
	}
	return true
}

// isAnchored reports whether a value may begin in what c holds. The anchor may
// stand a little behind: at another of several backslashes, or in what was read
// in another way.
func (h *hunt) isAnchored(c *reading) bool {
	h.steps++
	start := h.startOf(c, c.node)
	if o := &h.pasts[c.past]; c.number-int(h.a.nodes[c.node].depth) < o.until {
		start = min(start, o.early)
	}
	return h.starts.containsAny(start, c.at)
}

// report notes the value that ends where c is.
func (h *hunt) report(c *reading) {
	n := &h.a.nodes[c.node]
	from := c.number - int(n.found)
	o := h.pastOf(c)
	var x markedSpan
	if o.end > 0 && from >= o.from && from < o.to {
		// It begins inside the last one, which is noted.
		x.start = o.end - 1
	} else {
		x.start = h.trail.placeOf(c.run, from+1)
		if n.lead && x.start > 0 && isBase64(h.m.s[x.start-1]) {
			x.start--
		}
		o.from = from
	}
	if from < o.until {
		x.start = min(x.start, o.early)
	}
	x.end = c.at
	if h.shape == shapeBase64 {
		x.end = h.m.paddingEnd(c.at, n.trail)
	}
	o.to, o.end = c.number, c.at
	h.join(x)
}

// pastOf returns the past of a reading, which no other reading has after it.
func (h *hunt) pastOf(c *reading) *past {
	if !h.isSole || c.past == 0 {
		h.pasts = append(h.pasts, h.pasts[c.past])
		c.past = int32(len(h.pasts) - 1)
	}
	return &h.pasts[c.past]
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
	if lost := &h.pasts[o.past]; lost.until > 0 {
		early = min(early, lost.early)
	} else if h.agree(c, o, int(h.a.nodes[o.node].depth)) {
		return
	}
	x := h.pastOf(c)
	if x.until > 0 {
		early = min(early, x.early)
	}
	x.early, x.until = early, c.number
}

// agree reports whether the last count characters of two readings begin at the
// same places. It may be false where they do and are in many runs.
func (h *hunt) agree(c, o *reading, count int) bool {
	const most = 16
	a, b, n, m := c.run, o.run, c.number, o.number
	for range most {
		if count <= 0 || a == b && n == m {
			return true
		}
		h.steps++
		r, q := &h.trail.runs[a], &h.trail.runs[b]
		if r.at+(n-r.first)*r.stride != q.at+(m-q.first)*q.stride {
			return false
		}
		same := 1
		if r.stride == q.stride {
			same = min(n-r.first, m-q.first) + 1
		}
		count, n, m = count-same, n-same, m-same
		if n < r.first {
			a = r.last
		}
		if m < q.first {
			b = q.last
		}
	}
	return count <= 0
}

// isLarge reports whether the hunt has kept more than so many of anything.
func (h *hunt) isLarge(most int) bool {
	return cap(h.trail.runs) > most || cap(h.live) > most || cap(h.found) > most
}
