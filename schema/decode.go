package schema

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// The default bounds of [Decode]. Depth is what a person can still follow and
// far below what exhausts a stack; the size admits a large file as an
// argument; the node count keeps a text of many tiny values from costing a
// hundred times its size in memory.
const (
	defaultDepth = 64
	DefaultBytes = 8 << 20
	defaultNodes = 200_000
)

// A number has at most maxNumberBytes bytes, and its first digit stands for
// at most 10^maxMagnitude and at least 10^-maxMagnitude. That covers every
// IEEE 754 double and every integer of 400 digits; beyond it arithmetic costs
// more than the text that asked for it.
const (
	maxNumberBytes = 512
	maxMagnitude   = 400
)

// Limits bounds what [Decode] accepts. A zero field means the default.
type Limits struct {
	// Depth is the number of nested arrays and objects; 0 means 64.
	Depth int
	// Bytes is the size of the text; 0 means 8 MiB.
	Bytes int
	// Nodes is the number of values, keys not counted; 0 means 200,000.
	Nodes int
}

func (l *Limits) orDefault() Limits {
	var d Limits
	if l != nil {
		d = *l
	}
	return Limits{cmp.Or(d.Depth, defaultDepth), cmp.Or(d.Bytes, DefaultBytes), cmp.Or(d.Nodes, defaultNodes)}
}

// Decode reads one JSON value strictly: valid UTF-8, no byte order mark, no
// key twice in one object, no escape of half a surrogate pair, nothing after
// the value, and depth, size, node count and numbers within bounds. Objects
// become map[string]any, arrays []any, numbers [json.Number] with the digits
// as they were written. nil limits mean the defaults. The error is [Faults]
// with one entry. The result shares no memory with data.
func Decode(data []byte, l *Limits) (any, error) {
	d := jsonDecoder{build: true}
	v, ok := d.readText(data, l.orDefault(), nil)
	if !ok {
		return nil, d.faultList()
	}
	return v, nil
}

// jsonDecoder reads one text, and checks the rule of a schema while it reads. Its
// methods return false after the first fault of the text.
type jsonDecoder struct {
	s     string
	i     int
	depth int  // nesting still allowed
	nodes int  // values still allowed
	build bool // make values; without it repeated keys make it unsure

	// unsure is true when the rule, or keys equal under case folding, call
	// for a closer look. absent is true when a default is to be filled in.
	unsure, absent bool
	budget         stepBudget

	// keys is a stack: the keys of the objects that are open.
	keys   []string
	keybuf [8]string

	// message and path describe the fault. The path is collected while the
	// calls return, so that a valid text pays nothing for it.
	message string
	syntax  bool
	path    []string
}

func (d *jsonDecoder) readText(data []byte, l Limits, r *valueRule) (any, bool) {
	if len(data) > l.Bytes {
		return nil, d.setFault(fmt.Sprintf("is larger than %d bytes", l.Bytes))
	}
	if !utf8.Valid(data) {
		return nil, d.setFault("is not valid UTF-8")
	}
	return d.decodeValid(string(data), l, r)
}

func (d *jsonDecoder) decodeValid(text string, l Limits, r *valueRule) (any, bool) {
	d.s, d.depth, d.nodes = text, l.Depth, l.Nodes
	d.budget.left = maxSteps
	d.keys = d.keybuf[:0]
	d.skipSpace()
	v, ok := d.readValue(r)
	if !ok {
		return nil, false
	}
	d.skipSpace()
	if d.i < len(d.s) {
		return nil, d.setFault("has more text after the value")
	}
	return v, true
}

// checkText checks a text that was decoded before against a rule, and builds
// nothing. A fault of the text makes it unsure.
func (d *jsonDecoder) checkText(text string, r *valueRule) {
	if _, ok := d.decodeValid(text, (*Limits)(nil).orDefault(), r); !ok {
		d.unsure = true
	}
}

// setFault sets a fault that is not one of syntax; the first one counts.
func (d *jsonDecoder) setFault(message string) bool {
	if d.message == "" {
		d.message = message
	}
	return false
}

// syntaxError notes that the text is not JSON at the present byte.
func (d *jsonDecoder) syntaxError(what string) bool {
	if d.i >= len(d.s) {
		what = "unexpected end of text"
	}
	d.syntax = true
	return d.setFault(fmt.Sprintf("is not valid JSON: %s at byte %d", what, d.i+1))
}

func (d *jsonDecoder) faultList() Faults {
	if d.syntax {
		// The place of a syntax error is the byte; the path up to it would
		// suggest that the value there is known.
		return oneFault("", d.message)
	}
	slices.Reverse(d.path)
	return oneFault(formatPointer(d.path), d.message)
}

func (d *jsonDecoder) skipSpace() {
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}
