package ceiling

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"

	"github.com/sallyport/sallyport"
)

// MaxPlaced is how many properties of a tool may have places.
const MaxPlaced = 64

// Arguments are those of one call.
type Arguments struct {
	// Named are all of them.
	Named map[string]any
	// Values are those that the tool declares, in the order of the names to which
	// [Ceiling.PlaceIn] bound the ceiling; nil when they were not looked up.
	Values []any
	// Given has a bit for each of Values that is there.
	Given uint64
	// Kinds say what Values name.
	Kinds []sallyport.ValueKind
}

// Has reports whether the argument at a place is there.
func (a *Arguments) Has(at int) bool { return a.Given>>at&1 == 1 }

// Room is where a judgement puts what most of them find, so that it needs no other memory.
type Room struct {
	amounts [1]Amount
	value   big.Rat
	digits  [1]big.Word // of value
	taken   bool
}

// PlaceIn says in which order [Ceiling.Judge] gets the values of the properties that the tool
// declares. It comes before the first check.
func (c *Ceiling) PlaceIn(names []string) {
	if len(names) > MaxPlaced {
		return
	}
	c.root.at = make([]int, len(c.root.names))
	for i, name := range c.root.names {
		c.root.at[i] = slices.Index(names, name)
	}
	c.root.placeSums(names)
}

func (n *node) placeSums(names []string) {
	if n == nil {
		return
	}
	if n.sum != nil {
		if at := slices.Index(names, n.sum.By); at >= 0 {
			n.byAt = &at
		}
	}
	for _, sub := range n.subs {
		sub.placeSums(names)
	}
	n.items.placeSums(names)
}

// visitPlaced judges the arguments that the fragment rules, which are looked up, and returns
// how many there are.
func (w *walker) visitPlaced(n *node, named map[string]any) (ruled int) {
	for i, at := range n.at {
		p := &n.places[i]
		switch {
		case at >= 0 && w.args.Has(at):
			w.kind, w.path = w.args.Kinds[at], p.path
			w.visit(n.subs[i], p.pointer, p.path, w.args.Values[at])
			ruled++
		case at < 0:
			if item, ok := named[n.names[i]]; ok {
				w.visit(n.subs[i], p.pointer, p.path, item)
				ruled++
			}
		}
	}
	return ruled
}

// valueBy returns the value of the argument that a sum names.
func (w *walker) valueBy(n *node) any {
	if at := n.byAt; at != nil && w.args.Values != nil {
		return w.args.Values[*at]
	}
	return w.args.Named[n.sum.By]
}

// exactValue is [Exact], in the room of the judgement for the first whole number.
func (w *walker) exactValue(n json.Number) (*big.Rat, bool) {
	r := w.room
	if r == nil || r.taken || len(n) > maxWhole || !isWhole(string(n)) {
		return Exact(n)
	}
	whole, err := strconv.ParseUint(string(n), 10, strconv.IntSize)
	if err != nil {
		return Exact(n)
	}
	r.taken = true
	r.digits[0] = big.Word(whole)
	r.value.Num().SetBits(r.digits[:])
	return &r.value, true
}
