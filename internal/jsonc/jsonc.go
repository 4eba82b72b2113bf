// Package jsonc reads JSON as programs keep their settings in it, with
// comments and trailing commas where they are allowed, and remembers where
// each value stands, so that one value can be replaced and every other byte of
// the file stays.
//
// Start with [Parse].
package jsonc

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxBytes bounds a text. The largest settings that are known, those in
	// which a client keeps its history too, have a few megabytes.
	MaxBytes = 32 << 20
	// maxDepth bounds nested objects and lists: reading recurses.
	maxDepth = 128
	// maxNodes bounds the values, which cost a hundred bytes each: a text of
	// zeros would take a hundred times its size.
	maxNodes = 2 << 20
)

// Kind says what a value is.
type Kind string

// The kinds.
const (
	// Object is a list of members.
	Object Kind = "an object"
	// Array is a list of values.
	Array Kind = "a list"
	// String is a text.
	String Kind = "a text"
	// Number is a number, as it is written.
	Number Kind = "a number"
	// Bool is true or false.
	Bool Kind = "true or false"
	// Null is null.
	Null Kind = "null"
)

// Value is one value of a text. It is immutable.
type Value struct {
	// Kind says which of the other fields are set.
	Kind Kind
	// Text is the text of a String, and any other scalar as it is written.
	Text string
	// Members are those of an Object, in the order of the text. No name is
	// there twice.
	Members []Member
	// Items are those of an Array.
	Items []*Value
	// Start and End are where the value stands: text[Start:End].
	Start, End int
}

// Member is one member of an object.
type Member struct {
	// Name is what it is called.
	Name string
	// At is where the name stands.
	At int
	// Value is what it holds.
	Value *Value
}

// Get returns the value of a member, nil when there is none and for a nil
// Value.
func (v *Value) Get(name string) *Value {
	if v == nil {
		return nil
	}
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Equal reports whether two values say the same, whatever the order of members.
func Equal(a, b *Value) bool {
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Members) != len(b.Members) || len(a.Items) != len(b.Items) {
		return false
	}
	for _, m := range a.Members {
		if other := b.Get(m.Name); other == nil || !Equal(m.Value, other) {
			return false
		}
	}
	for i := range a.Items {
		if !Equal(a.Items[i], b.Items[i]) {
			return false
		}
	}
	return true
}

// Options say what a text may have beside JSON. nil means the zero Options,
// which is JSON alone.
type Options struct {
	// Comments allows // and /* comments, and a comma after the last member or
	// item.
	Comments bool
}

// SyntaxError says what is wrong with a text, and where.
type SyntaxError struct {
	// Line and Column count from 1; Column counts code points.
	Line, Column int
	// Message says what was expected. It repeats nothing of the text but names
	// of members.
	Message string
}

// Error is "line:column: message".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// bom may begin a file that some editors write.
const bom = "\ufeff"

// Parse reads one value. A byte order mark before it is passed over; invalid
// UTF-8, a member that is there twice, more than 128 levels, two million values and
// [MaxBytes] are errors. The error is a [SyntaxError].
func Parse(text []byte, o *Options) (*Value, error) {
	if o == nil {
		o = &Options{}
	}
	p := parser{text: text, comments: o.Comments}
	if len(text) > MaxBytes {
		return nil, &SyntaxError{1, 1, fmt.Sprintf("the file is larger than %d bytes", MaxBytes)}
	}
	if !utf8.Valid(text) {
		return nil, p.invalidError()
	}
	if bytes.HasPrefix(text, []byte(bom)) {
		p.i = len(bom)
	}
	p.skipSpace()
	v := p.parseValue()
	p.skipSpace()
	if p.err == nil && p.i < len(text) {
		p.setError("expected the end of the file")
	}
	if p.err != nil {
		return nil, p.err
	}
	return v, nil
}

// Place returns line and column of an offset, from 1.
func Place(text []byte, offset int) (line, column int) {
	before := text[:offset]
	line = bytes.Count(before, []byte{'\n'}) + 1
	begin := bytes.LastIndexByte(before, '\n') + 1
	return line, utf8.RuneCount(bytes.TrimPrefix(before[begin:], []byte(bom))) + 1
}

// parser reads one text. After an error it reads nothing more.
type parser struct {
	text     []byte
	i        int
	depth    int
	nodes    int
	comments bool
	err      error
}

func (p *parser) setError(format string, args ...any) {
	if p.err == nil {
		line, column := Place(p.text, p.i)
		p.err = &SyntaxError{line, column, fmt.Sprintf(format, args...)}
	}
	p.i = len(p.text)
}

// invalidError returns the error of the first byte that is no character.
func (p *parser) invalidError() error {
	for p.i < len(p.text) {
		r, n := utf8.DecodeRune(p.text[p.i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		p.i += n
	}
	line, column := Place(p.text, p.i)
	return &SyntaxError{line, column, "expected UTF-8"}
}

// peekByte returns the next byte, 0 at the end.
func (p *parser) peekByte() byte {
	if p.i < len(p.text) {
		return p.text[p.i]
	}
	return 0
}

// skipSpace skips what is between values.
func (p *parser) skipSpace() {
	for p.i < len(p.text) {
		switch c := p.text[p.i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.i++
		case c != '/':
			return
		case !p.comments:
			p.setError("a comment: this file is read as JSON, which has none")
		case !p.skipComment():
			return
		}
	}
}

// skipComment skips one comment.
func (p *parser) skipComment() bool {
	rest := p.text[p.i:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			p.i += n
		} else {
			p.i = len(p.text)
		}
	case bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			p.setError("a comment without its end")
			return false
		}
		p.i += n + 4
	default:
		p.setError("expected a value")
		return false
	}
	return true
}

func (p *parser) parseValue() *Value {
	v := &Value{Start: p.i}
	if p.depth++; p.depth > maxDepth {
		p.setError("nested deeper than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	if p.nodes++; p.nodes > maxNodes {
		p.setError("more than %d values", maxNodes)
	}
	switch c := p.peekByte(); {
	case c == '{':
		p.parseObject(v)
	case c == '[':
		p.parseArray(v)
	case c == '"':
		v.Kind, v.Text = String, p.parseString()
	case c == '-' || '0' <= c && c <= '9':
		v.Kind, v.Text = Number, p.parseNumber()
	default:
		p.parseWord(v)
	}
	v.End = p.i
	return v
}

func (p *parser) parseObject(v *Value) {
	v.Kind = Object
	seen := map[string]bool{}
	p.i++
	for p.nextElement('}', len(v.Members) == 0) {
		m := Member{At: p.i}
		if p.peekByte() != '"' {
			p.setError("expected a name in double quotes")
			return
		}
		if m.Name = p.parseString(); seen[m.Name] {
			p.i = m.At
			p.setError("%q is there twice", m.Name)
			return
		}
		seen[m.Name] = true
		if p.skipSpace(); p.peekByte() != ':' {
			p.setError("expected a colon")
			return
		}
		p.i++
		p.skipSpace()
		m.Value = p.parseValue()
		v.Members = append(v.Members, m)
	}
}

func (p *parser) parseArray(v *Value) {
	v.Kind = Array
	p.i++
	for p.nextElement(']', len(v.Items) == 0) {
		v.Items = append(v.Items, p.parseValue())
	}
}

// nextElement goes to the next member or item, and past the end when there is none.
func (p *parser) nextElement(end byte, first bool) bool {
	p.skipSpace()
	if p.err != nil {
		return false
	}
	if p.peekByte() == end {
		p.i++
		return false
	}
	if first {
		return p.hasInput(end)
	}
	if p.peekByte() != ',' {
		p.setError("expected a comma or %q", string(end))
		return false
	}
	comma := p.i
	p.i++
	p.skipSpace()
	if p.peekByte() != end || p.err != nil {
		return p.hasInput(end)
	}
	if !p.comments {
		p.i = comma
		p.setError("a comma after the last one: this file is read as JSON, which has none")
		return false
	}
	p.i++
	return false
}

// hasInput reports whether there is text left.
func (p *parser) hasInput(end byte) bool {
	if p.i >= len(p.text) {
		p.setError("the file ends before %q", string(end))
	}
	return p.err == nil
}

// parseWord reads true, false or null.
func (p *parser) parseWord(v *Value) {
	for _, w := range [...]struct {
		text string
		kind Kind
	}{{"true", Bool}, {"false", Bool}, {"null", Null}} {
		if bytes.HasPrefix(p.text[p.i:], []byte(w.text)) {
			v.Kind, v.Text = w.kind, w.text
			p.i += len(w.text)
			return
		}
	}
	p.setError("expected a value")
}

// parseNumber reads a number as JSON writes it.
func (p *parser) parseNumber() string {
	start := p.i
	digits := func() bool {
		from := p.i
		for c := p.peekByte(); '0' <= c && c <= '9'; c = p.peekByte() {
			p.i++
		}
		return p.i > from
	}
	if p.peekByte() == '-' {
		p.i++
	}
	zero := p.peekByte() == '0'
	ok := digits() && (!zero || strings.TrimPrefix(string(p.text[start:p.i]), "-") == "0")
	if ok && p.peekByte() == '.' {
		p.i++
		ok = digits()
	}
	if ok && p.peekByte()|0x20 == 'e' {
		p.i++
		if c := p.peekByte(); c == '+' || c == '-' {
			p.i++
		}
		ok = digits()
	}
	if !ok {
		p.setError("expected a number")
		return ""
	}
	return string(p.text[start:p.i])
}
