package jsonc

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Entry is a member to be written: its value as JSON.
type Entry struct {
	// Name is what it is called.
	Name string
	// JSON is the value, in one line or many.
	JSON []byte
}

// Replace puts entries into the place of the members of an object of a text
// and changes no other byte. The lines and their indentation are those of the
// text. The object is one that [Parse] read from this very text.
func Replace(text []byte, object *Value, entries []Entry) []byte {
	s := styleOf(text)
	depth := s.indentDepth(text, object.Start)
	return replaceRange(text, object.Start, object.End, s.formatObject(entries, depth))
}

// Add puts a member with a value behind the last one of an object, and changes
// no other byte.
func Add(text []byte, object *Value, e Entry) []byte {
	s := styleOf(text)
	depth := s.indentDepth(text, object.Start)
	if inside := bytes.TrimRight(text[object.Start+1:object.End-1], " \t\r\n"); len(object.Members) == 0 && len(inside) > 0 {
		// What is there is comments.
		member := append(s.formatMember(e, depth+1), s.breakLine(depth)...)
		return replaceRange(text, object.Start+1+len(inside), object.End-1, member)
	}
	if len(object.Members) == 0 {
		return replaceRange(text, object.Start, object.End, s.formatObject([]Entry{e}, depth))
	}
	last := object.Members[len(object.Members)-1].Value.End
	return replaceRange(text, last, last, append([]byte{','}, s.formatMember(e, depth+1)...))
}

func replaceRange(text []byte, from, to int, with []byte) []byte {
	out := make([]byte, 0, len(text)-(to-from)+len(with))
	out = append(out, text[:from]...)
	out = append(out, with...)
	return append(out, text[to:]...)
}

// lineStyle is how a text breaks its lines.
type lineStyle struct {
	// indent is one step, newline ends a line.
	indent, newline string
}

// styleOf looks at the first line that is indented. A text without one gets two
// spaces.
func styleOf(text []byte) lineStyle {
	s := lineStyle{indent: "  ", newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		s.newline = "\r\n"
	}
	for line := range bytes.Lines(text) {
		body := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(body); n > 0 && len(bytes.TrimSpace(body)) > 0 && body[0] == '"' {
			s.indent = string(line[:n])
			break
		}
	}
	return s
}

// indentDepth returns how many steps the line of an offset is indented.
func (s lineStyle) indentDepth(text []byte, offset int) int {
	begin := bytes.LastIndexByte(text[:offset], '\n') + 1
	line := string(text[begin:offset])
	n := 0
	for strings.HasPrefix(line, s.indent) {
		line = line[len(s.indent):]
		n++
	}
	return n
}

func (s lineStyle) formatObject(entries []Entry, depth int) []byte {
	if len(entries) == 0 {
		return []byte("{}")
	}
	out := []byte{'{'}
	for i, e := range entries {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, s.formatMember(e, depth+1)...)
	}
	return append(append(out, s.breakLine(depth)...), '}')
}

func (s lineStyle) breakLine(depth int) string { return s.newline + strings.Repeat(s.indent, depth) }

// formatMember returns a member on a line of its own.
func (s lineStyle) formatMember(e Entry, depth int) []byte {
	var b bytes.Buffer
	b.WriteString(s.breakLine(depth))
	b.Write(quoteText(e.Name))
	b.WriteString(": ")
	var value bytes.Buffer
	if err := json.Indent(&value, e.JSON, strings.Repeat(s.indent, depth), s.indent); err != nil {
		b.Write(e.JSON) // what is no JSON is the caller's to see in the result
		return b.Bytes()
	}
	b.Write(bytes.ReplaceAll(value.Bytes(), []byte{'\n'}, []byte(s.newline)))
	return b.Bytes()
}

// quoteText returns a text as JSON, with nothing escaped for HTML.
func quoteText(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return []byte(`""`) // a string does not fail
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
