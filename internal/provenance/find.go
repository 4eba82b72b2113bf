package provenance

import (
	"net"
	"strings"

	"github.com/sallyport/sallyport"

	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/facts"
)

// A Match says what of a value came out of untrusted content.
type Match struct {
	// Piece is the part of the value that did.
	Piece string
	// Source is the call that brought it; the zero value when the memory is
	// flooded, and it cannot be told.
	Source Source
}

// Held reports that a piece of a value, in the form of [Exact], is the operator's or the
// person's own. It must be safe for concurrent use.
type Held func(kind sallyport.ValueKind, exact string) bool

const (
	// maxAsked bounds how often it is asked of one value whether a piece is held. Of a value
	// with more pieces that came out of untrusted content, the others count as not held.
	maxAsked = 1 << 14
	// maxHeld is the longest piece that may be held, in bytes: no set and no person names a
	// longer one, and to bring one into its form takes long.
	maxHeld = 1 << 18
)

// search looks for one value.
type search struct {
	*Reading
	ended func() error // why the call has ended; nil while it has not
	held  Held
	asked int // how often held was asked
	// note is told of each piece that a memory has, instead of taking the first that is
	// not held: see [Tracer]. It returns false when it wants no more.
	note func(canonical string) bool
}

// isHeld reports whether a piece is the operator's or the person's own.
func (s *search) isHeld(kind sallyport.ValueKind, piece string) bool {
	s.asked++
	if s.held == nil || s.asked > maxAsked || len(piece) > maxHeld {
		return false
	}
	s.spendWork(heldWork + foldWork*len(piece))
	return !s.isStopped() && s.held(kind, Exact(kind, piece))
}

// findIn looks for a value as it stands, and for what it is the code of.
func (s *search) findIn(kind sallyport.ValueKind, value string, depth int) bool {
	if s.spendWork(len(value)); s.isStopped() {
		return true
	}
	free, seen := kind == "" || kind == effect.Text, marksOf(value)
	lacks := s.glanceAt(value, seen, free)
	if free && s.findText(value, seen, lacks) || !free && s.findPlace(kind, value, seen) {
		return true
	}
	if depth == 0 {
		return false
	}
	var pieces []string
	if !lacks.codes {
		pieces = decodeCodes(value)
	}
	pieces, _ = decodeWords(pieces, value, valuePieces)
	for _, decoded := range pieces {
		if s.findIn(kind, decoded, depth-1) {
			return true
		}
	}
	return false
}

// findUnknown takes a value for one that came out of what no memory has, unless it is held.
func (s *search) findUnknown(kind sallyport.ValueKind, value string) bool {
	if kind == "" {
		kind = effect.Text
	}
	s.match = Match{Piece: value}
	if len(value) > maxHeld {
		return true
	}
	s.spendWork(foldWork * len(value))
	s.asked = 0
	return Canonical(kind, value) != "" && (s.held == nil || !s.held(kind, Exact(kind, value)))
}

// findText looks for a text, for what it names, and for a run of it.
func (s *search) findText(value string, seen marks, lacks glance) bool {
	var whole string
	if !lacks.text {
		if whole = s.makeCanonical(effect.Text, value, seen); s.isForeign(effect.Text, whole, value) {
			return true
		}
	}
	return !lacks.places && s.namesForeign(value, seen, nil) || s.findRun(whole)
}

// findPlace looks for a place, and for what it names beside.
func (s *search) findPlace(kind sallyport.ValueKind, value string, seen marks) bool {
	whole := lookedFor{entity{kind: kind, text: value}, s.makeCanonical(kind, value, seen)}
	if s.isForeign(kind, whole.form, value) {
		return true
	}
	return s.namesForeign(value, seen, &whole) && !s.isHeld(kind, value)
}

// lookedFor is what did not come out of a memory, in canonical form.
type lookedFor struct {
	entity
	form string
}

// namesForeign reports whether a text names something that came out of the memory; whole
// did not, if it is not nil.
func (s *search) namesForeign(value string, seen marks, whole *lookedFor) bool {
	if seen&isRune != 0 {
		value = s.makePlain(value)
		seen = marksOf(value)
	}
	return !visitSeen(value, seen, func(e entity) bool {
		if whole != nil && e == whole.entity {
			return !s.isNearForeign(e, whole.form)
		}
		return !s.isForeignEntity(e, seen)
	})
}

// isForeignEntity reports whether what a piece names came out of the memory: the host
// with any name below it, the address with any tag. It is known what the bytes of the text
// around it stand for.
func (s *search) isForeignEntity(e entity, seen marks) bool {
	form := s.makeCanonical(e.kind, e.text, seen)
	if e.kind == effect.Host && len(form) >= gramSize && !s.mayHaveGramAt(form, len(form)-gramSize) {
		return false // the host ends with it, and so does each name above it
	}
	return s.isForeign(e.kind, form, e.text) || s.isNearForeign(e, form)
}

// isNearForeign reports whether the host above a name, or the address without its tag,
// came out of the memory.
func (s *search) isNearForeign(e entity, form string) bool {
	switch {
	case e.kind == effect.Mail:
		name, domain, _ := strings.Cut(form, "@")
		name, _, tagged := strings.Cut(name, "+")
		return tagged && s.isForeign(e.kind, name+"@"+domain, e.text)
	case e.kind != effect.Host || isIP(form):
		return false
	}
	for range maxLabels {
		_, above, _ := strings.Cut(form, ".")
		if form = above; len(form) < minValue || !strings.Contains(form, ".") {
			break
		}
		if s.isForeign(e.kind, form, form) {
			return !s.isHeld(e.kind, e.text)
		}
	}
	return false
}

// isIP reports whether a host is an address of IP: the last label of a name has a letter.
func isIP(host string) bool {
	if host == "" {
		return false
	}
	last := host[len(host)-1]
	return ('0' <= last && last <= '9' || strings.IndexByte(host, ':') >= 0) && net.ParseIP(host) != nil
}

// maxLabels bounds the names above a host that are looked for: a host has 127 at most.
const maxLabels = 128

// leastOf is the shortest value of a kind that is looked for, in bytes. What names a host
// is not in every text, however short it is.
func leastOf(kind sallyport.ValueKind) int {
	switch kind {
	case effect.Mail, effect.Host, effect.URL:
		return minPlace
	default:
		return minValue
	}
}

// isForeign reports whether a piece came out of a memory and is not held. So does each piece
// once the search is stopped: what it says then counts for nothing.
func (s *search) isForeign(kind sallyport.ValueKind, canonical, piece string) bool {
	if len(canonical) < leastOf(kind) {
		return s.isStopped()
	}
	from := s.viewWith(canonical)
	switch {
	case s.isStopped():
		return true
	case from == nil:
		return false
	case s.note != nil:
		return !s.note(canonical)
	case s.isHeld(kind, piece):
		return false
	}
	s.match = Match{Piece: piece, Source: from.sourceOf(canonical)}
	return true
}

// viewWith returns the first view that has a piece, in canonical form; nil for none.
func (s *search) viewWith(canonical string) *view {
	s.spendWork(1 + len(s.views))
	for i := range s.views {
		if v := &s.views[i]; s.isIn(v, canonical) {
			return v
		}
		if s.isStopped() {
			return nil
		}
	}
	return nil
}

// isIn reports whether a view has a piece, in canonical form.
func (s *search) isIn(v *view, canonical string) bool {
	if v.past != nil {
		return v.past[facts.ShortDigest(canonical)]
	}
	if !v.mayContain(canonical) {
		return false
	}
	s.spendWork(len(canonical) + len(v.text)/textStep)
	return strings.Contains(v.text, canonical)
}

// mayHaveGramAt reports whether a run that has the gram at a place may be in a memory.
func (s *search) mayHaveGramAt(folded string, at int) bool {
	s.spendWork(1 + len(s.views))
	for i := range s.views {
		if s.views[i].mayHave(folded, at) {
			return true
		}
	}
	return false
}

const (
	// runStep is how far apart the grams are of which each run of runLength has one, in
	// bytes.
	runStep = runLength - gramSize + 1
	// halfStep is how far from that gram another one is that a run has which begins so far
	// before it, or later.
	halfStep = runStep / 2
)

// findRun looks for a run of a folded text that was taken over. Each run of
// runLength has one of the grams that are looked at first.
func (s *search) findRun(folded string) bool {
	for at := 0; at+gramSize <= len(folded) && len(folded) >= runLength; at += runStep {
		if s.spendWork(1 + len(s.views)); s.isStopped() {
			return true
		}
		for i := range s.views {
			if v := &s.views[i]; v.mayHave(folded, at) && s.findRunAt(v, folded, at) {
				return true
			}
		}
	}
	return false
}

// findRunAt looks in a view for a run that has the gram at a place.
func (s *search) findRunAt(v *view, folded string, at int) bool {
	first, last := max(0, at-runStep+1), min(at, len(folded)-runLength)
	if between := at - halfStep; between >= first && !v.mayHave(folded, between) {
		first = between + 1
	}
	if between := at + halfStep; last > at-halfStep && !v.mayHave(folded, between) {
		last = at - halfStep
	}
	for start := first; start <= last; start++ {
		run := folded[start : start+runLength]
		if s.isIn(v, run) && s.isForeign(effect.Text, run, run) || s.isStopped() {
			return true
		}
	}
	s.spendWork(runStep)
	return false
}
