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

// Find returns what of a value came out of the memory and is not held. Kind is that of
// a value that says where something goes; empty for any other value.
func (m *Memory) Find(kind sallyport.ValueKind, value string, held Held) (Match, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.flooded && m.index.text.Len() == 0 && len(m.past) == 0 {
		return Match{}, false
	}
	s := search{Memory: m, held: held}
	found := s.findIn(kind, value, maxDecoded)
	return s.match, found
}

// maxAsked bounds how often it is asked of one value whether a piece is held. Of a value
// with more pieces that came out of untrusted content, the others count as not held.
const maxAsked = 1 << 14

// search looks for one value.
type search struct {
	*Memory
	held  Held
	asked int // how often held was asked
	match Match
	// note is told of each piece that the memory has, instead of taking the first that is
	// not held: see [Tracer]. It returns false when it wants no more.
	note func(canonical string) bool
}

// isHeld reports whether a piece is the operator's or the person's own.
func (s *search) isHeld(kind sallyport.ValueKind, piece string) bool {
	s.asked++
	return s.held != nil && s.asked <= maxAsked && s.held(kind, Exact(kind, piece))
}

// findIn looks for a value as it stands, and for what it is the code of.
func (s *search) findIn(kind sallyport.ValueKind, value string, depth int) bool {
	return s.findSeen(kind, value, marksOf(value), depth)
}

// findSeen is findIn for a value of which it is known what its bytes stand for.
func (s *search) findSeen(kind sallyport.ValueKind, value string, seen marks, depth int) bool {
	free := kind == "" || kind == effect.Text
	lacks := s.glanceSeen(value, seen, free)
	if free && s.findText(value, seen, lacks) || !free && s.findPlace(kind, value, seen) {
		return true
	}
	if depth == 0 || s.flooded {
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

// findText looks for a text, for what it names, and for a run of it.
func (s *search) findText(value string, seen marks, lacks glance) bool {
	var whole string
	if !lacks.text {
		whole = canonicalSeen(effect.Text, value, seen)
		switch {
		case s.isForeign(effect.Text, whole, value):
			return true
		case s.flooded:
			return false
		}
	}
	return !lacks.places && s.namesForeign(value, seen, nil) || s.findRun(whole)
}

// findPlace looks for a place, and for what it names beside.
func (s *search) findPlace(kind sallyport.ValueKind, value string, seen marks) bool {
	whole := lookedFor{entity{kind: kind, text: value}, canonicalSeen(kind, value, seen)}
	switch {
	case s.isForeign(kind, whole.form, value):
		return true
	case s.flooded:
		return false
	}
	return s.namesForeign(value, seen, &whole) && !s.isHeld(kind, value)
}

// lookedFor is what did not come out of the memory, in canonical form.
type lookedFor struct {
	entity
	form string
}

// namesForeign reports whether a text names something that came out of the memory; whole
// did not, if it is not nil.
func (s *search) namesForeign(value string, seen marks, whole *lookedFor) bool {
	if seen&isRune != 0 {
		value = plainText(value)
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
	form := canonicalSeen(e.kind, e.text, seen)
	if e.kind == effect.Host && !s.flooded && len(form) >= gramSize && !s.mayContainGram(form, len(form)-gramSize) {
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

// isForeign reports whether a piece came out of the memory and is not held.
func (s *search) isForeign(kind sallyport.ValueKind, canonical, piece string) bool {
	switch {
	case canonical == "", !s.flooded && (len(canonical) < leastOf(kind) || !s.contains(canonical)):
		return false
	case s.note != nil:
		return !s.flooded && !s.note(canonical)
	case s.isHeld(kind, piece):
		return false
	}
	s.match = Match{Piece: piece}
	if !s.flooded && s.past == nil {
		s.match.Source = s.sourceOf(canonical)
	}
	return true
}

// contains reports whether a piece, in canonical form, is in the memory.
func (s *search) contains(canonical string) bool {
	if s.past != nil {
		return s.past[facts.ShortDigest(canonical)]
	}
	return s.index.Contains(canonical)
}

// mayContainGram reports whether a run that has the gram at a place may be in the memory.
func (s *search) mayContainGram(folded string, at int) bool {
	return s.past != nil || s.index.mayContainGram(folded, at)
}

// runStep is how far apart the grams are of which each run of runLength has one, in bytes.
const runStep = runLength - gramSize + 1

// findRun looks for a run of a folded text that was taken over. Each run of
// runLength has one of the grams that are looked at first.
func (s *search) findRun(folded string) bool {
	for at := 0; at+gramSize <= len(folded) && len(folded) >= runLength; at += runStep {
		if !s.mayContainGram(folded, at) {
			continue
		}
		for start := max(0, at-runStep+1); start <= at && start+runLength <= len(folded); start++ {
			if s.isForeign(effect.Text, folded[start:start+runLength], folded[start:start+runLength]) {
				return true
			}
		}
	}
	return false
}
