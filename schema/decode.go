package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The default bounds of [Decode]. Depth is what a person can still follow and
// far below what exhausts a stack; the size admits a large file as an
// argument; the node count keeps a text of many tiny values from costing a
// hundred times its size in memory.
const (
	DefaultDepth = 64
	DefaultBytes = 8 << 20
	DefaultNodes = 200_000
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

// orDefault returns the limits with every zero replaced.
func (l *Limits) orDefault() Limits {
	d := Limits{Depth: DefaultDepth, Bytes: DefaultBytes, Nodes: DefaultNodes}
	if l == nil {
		return d
	}
	if l.Depth > 0 {
		d.Depth = l.Depth
	}
	if l.Bytes > 0 {
		d.Bytes = l.Bytes
	}
	if l.Nodes > 0 {
		d.Nodes = l.Nodes
	}
	return d
}

// Decode reads one JSON value strictly: valid UTF-8, no byte order mark, no
// key twice in one object, no escape of half a surrogate pair, nothing after
// the value, and depth, size, node count and numbers within bounds. Objects
// become map[string]any, arrays []any, numbers [json.Number] with the digits
// as they were written. nil limits mean the defaults. The error is [Faults]
// with one entry. The result shares no memory with data.
func Decode(data []byte, l *Limits) (any, error) {
	v, _, err := decode(data, l.orDefault())
	return v, err
}

// decode is Decode that also reports whether an object holds two keys that
// are equal under case folding.
func decode(data []byte, l Limits) (v any, folded bool, err error) {
	if len(data) > l.Bytes {
		return nil, false, oneFault("", fmt.Sprintf("is larger than %d bytes", l.Bytes))
	}
	if !utf8.Valid(data) {
		return nil, false, oneFault("", "is not valid UTF-8")
	}
	d := decoder{s: string(data), depth: l.Depth, nodes: l.Nodes}
	d.keys = d.keybuf[:0]
	d.space()
	v, ok := d.value()
	if ok {
		d.space()
		if d.i < len(d.s) {
			ok = d.fail("has more text after the value")
		}
	}
	if !ok {
		return nil, false, d.fault()
	}
	return v, d.folded, nil
}

// decoder reads one text. Its methods return false after the first fault.
type decoder struct {
	s      string
	i      int
	depth  int // nesting still allowed
	nodes  int // values still allowed
	folded bool

	// keys is a stack: the keys of the objects that are open.
	keys   []string
	keybuf [16]string

	// message and path describe the fault. The path is collected while the
	// calls return, so that a valid text pays nothing for it.
	message string
	syntax  bool
	path    []string
}

// fail notes a fault that is not one of syntax.
func (d *decoder) fail(message string) bool {
	if d.message == "" {
		d.message = message
	}
	return false
}

// syntaxError notes that the text is not JSON at the present byte.
func (d *decoder) syntaxError(what string) bool {
	if d.i >= len(d.s) {
		what = "unexpected end of text"
	}
	d.syntax = true
	return d.fail(fmt.Sprintf("is not valid JSON: %s at byte %d", what, d.i+1))
}

func (d *decoder) fault() Faults {
	if d.syntax {
		// The place of a syntax error is the byte; the path up to it would
		// suggest that the value there is known.
		return oneFault("", d.message)
	}
	slices.Reverse(d.path)
	return oneFault(pointer(d.path), d.message)
}

func (d *decoder) space() {
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

// value reads the value that begins at the present byte.
func (d *decoder) value() (any, bool) {
	if d.nodes--; d.nodes < 0 {
		return nil, d.fail("has too many values")
	}
	if d.i >= len(d.s) {
		return nil, d.syntaxError("")
	}
	switch c := d.s[d.i]; c {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		s, ok := d.string()
		return s, ok
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	case 'n':
		return nil, d.literal("null")
	default:
		if c == '-' || isDigit(c) {
			n, ok := d.number()
			return json.Number(n), ok
		}
		return nil, d.syntaxError("unexpected character")
	}
}

func (d *decoder) literal(word string) bool {
	if !strings.HasPrefix(d.s[d.i:], word) {
		return d.syntaxError("unexpected word")
	}
	d.i += len(word)
	return true
}

func (d *decoder) object() (any, bool) {
	if d.depth--; d.depth < 0 {
		return nil, d.fail("is nested too deeply")
	}
	m := make(map[string]any)
	base := len(d.keys)
	d.i++
	d.space()
	if d.i < len(d.s) && d.s[d.i] == '}' {
		d.i++
		d.depth++
		return m, true
	}
	for {
		if !d.member(m) {
			return nil, false
		}
		if d.i >= len(d.s) {
			return nil, d.syntaxError("")
		}
		c := d.s[d.i]
		if c == '}' {
			break
		}
		if c != ',' {
			return nil, d.syntaxError("expected , or }")
		}
		d.i++
		d.space()
	}
	d.i++
	d.depth++
	d.folded = d.folded || foldCollision(d.keys[base:])
	d.keys = d.keys[:base]
	return m, true
}

// member reads one "key": value pair and the space after it.
func (d *decoder) member(m map[string]any) bool {
	if d.i >= len(d.s) || d.s[d.i] != '"' {
		return d.syntaxError("expected a key in double quotes")
	}
	key, ok := d.string()
	if !ok {
		return false
	}
	if _, ok := m[key]; ok {
		return d.fail("repeats the key " + quote(key))
	}
	d.space()
	if d.i >= len(d.s) || d.s[d.i] != ':' {
		return d.syntaxError("expected : after a key")
	}
	d.i++
	d.space()
	v, ok := d.value()
	if !ok {
		d.path = append(d.path, key)
		return false
	}
	m[key] = v
	d.keys = append(d.keys, key)
	d.space()
	return true
}

func (d *decoder) array() (any, bool) {
	if d.depth--; d.depth < 0 {
		return nil, d.fail("is nested too deeply")
	}
	a := []any{}
	d.i++
	d.space()
	if d.i < len(d.s) && d.s[d.i] == ']' {
		d.i++
		d.depth++
		return a, true
	}
	for {
		v, ok := d.value()
		if !ok {
			d.path = append(d.path, itoa(len(a)))
			return nil, false
		}
		a = append(a, v)
		d.space()
		if d.i >= len(d.s) {
			return nil, d.syntaxError("")
		}
		c := d.s[d.i]
		if c == ']' {
			break
		}
		if c != ',' {
			return nil, d.syntaxError("expected , or ]")
		}
		d.i++
		d.space()
	}
	d.i++
	d.depth++
	return a, true
}
