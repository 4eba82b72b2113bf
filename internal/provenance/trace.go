package provenance

import (
	"context"
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/facts"
)

// A Tracer gathers what of the values of one call is in a reading, held or not: all
// that [Reading.Find] could come upon. It is not safe for concurrent use.
type Tracer struct {
	reading *Reading
	pieces  map[string]bool // their digests
	more    bool
}

// NewTracer returns a tracer of a reading.
func NewTracer(r *Reading) *Tracer { return &Tracer{reading: r} }

// A Value is one value of the arguments of a call.
type Value struct {
	// Kind is that of a value that says where something goes; empty for any other value.
	Kind sallyport.ValueKind
	// Text is the value.
	Text string
}

// Add looks for values. It returns the error of the context when that ends the search. What
// was found says nothing then.
func (t *Tracer) Add(ctx context.Context, values ...Value) error {
	r := t.reading
	r.viewMemories()
	if len(r.views) == 0 {
		return nil
	}
	s := search{Reading: r, ended: ctx.Err, note: t.notePiece}
	for i := range values {
		if s.findIn(values[i].Kind, values[i].Text, maxDecoded); t.more || s.isStopped() {
			break
		}
	}
	t.more = t.more || s.isStopped()
	return r.err
}

// IsFull reports whether there were more pieces than a record names, or than were looked for,
// so that those which it names depend on the order of the values.
func (t *Tracer) IsFull() bool { return t.more }

// FoundNothing reports whether nothing was found in all that was read, which is known.
func (t *Tracer) FoundNothing() bool {
	return len(t.pieces) == 0 && !t.more && !t.reading.Flooded()
}

// notePiece takes a piece, and reports whether there is room for another one.
func (t *Tracer) notePiece(canonical string) bool {
	name := facts.ShortDigest(canonical)
	switch {
	case t.pieces[name]:
		return true
	case len(t.pieces) == facts.MaxPieces:
		t.more = true
		return false
	case t.pieces == nil:
		t.pieces = map[string]bool{}
	}
	t.pieces[name] = true
	return true
}

// Carried returns what was found.
func (t *Tracer) Carried() *facts.Carried {
	c := &facts.Carried{More: t.more, Unknown: t.reading.Flooded()}
	if len(t.pieces) > 0 {
		c.Pieces = slices.Sorted(maps.Keys(t.pieces))
	}
	return c
}

// Recall returns a reading that finds what the record of a call says that it carried; nil
// is nothing.
func Recall(c *facts.Carried) Reading {
	if c == nil {
		return Reading{}
	}
	m := &Memory{past: make(map[string]bool, len(c.Pieces))}
	for _, p := range c.Pieces {
		m.past[p] = true
	}
	return Reading{own: m, Unknown: c.Unknown}
}
