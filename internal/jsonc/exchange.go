package jsonc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Exchange puts an entry into the place of the first of the named members of an
// object, and removes the others. Each comment stays, and so does every other
// byte. The entry's own name is always one of them; an object that has none of
// them gets the entry as [Add] writes it. The object is one that [Parse] read
// from this very text.
func Exchange(text []byte, object *Value, names []string, e Entry) []byte {
	goes := func(m Member) bool { return m.Name == e.Name || slices.Contains(names, m.Name) }
	first := slices.IndexFunc(object.Members, goes)
	if first < 0 {
		return Add(text, object, e)
	}
	x := exchange{text: text, at: object.Start + 1, lastBody: -1}
	x.out.WriteByte('{')
	s := styleOf(text)
	for i, m := range object.Members {
		lead := text[x.at:m.At]
		switch {
		case i == first:
			x.writeMember(lead, s.formatInPlace(e, lead, s.indentDepth(text, object.Start)+1))
		case goes(m):
			x.writeComments(lead)
		default:
			x.writeMember(lead, text[m.At:m.Value.End])
		}
		x.passComma(m.Value.End)
	}
	x.writeEnd(object.End)
	return replaceRange(text, object.Start, object.End, x.out.Bytes())
}

// exchange writes the new text of an object.
type exchange struct {
	text []byte
	out  bytes.Buffer
	// at is behind the last comma that was passed.
	at int
	// trailing says that the last member had a comma behind it.
	trailing bool
	// open says that what was written ends in a comment without its line's end.
	open bool
	// lastBody is where the last member that was written ends in out.
	lastBody int
}

// writeMember writes a member with the text in front of it. The comma of the
// member before it stands directly behind that.
func (x *exchange) writeMember(lead, body []byte) {
	x.writeComma()
	x.writeExchanged(lead)
	x.out.Write(body)
	x.lastBody = x.out.Len()
}

// writeComma adds the comma behind the last member.
func (x *exchange) writeComma() {
	if x.lastBody < 0 {
		return
	}
	rest := slices.Clone(x.out.Bytes()[x.lastBody:])
	x.out.Truncate(x.lastBody)
	x.out.WriteByte(',')
	x.out.Write(rest)
}

// writeExchanged writes space and comments. A comment that ends with its line needs one.
func (x *exchange) writeExchanged(space []byte) {
	if x.open && !bytes.HasPrefix(bytes.TrimLeft(space, " \t\r"), []byte("\n")) {
		x.out.WriteByte('\n')
	}
	x.out.Write(space)
	x.open = endsInLineComment(space)
}

// endsInLineComment reports whether space and comments end in a comment that
// only the end of a line ends.
func endsInLineComment(space []byte) bool {
	for rest := bytes.TrimLeft(space, " \t\r\n"); len(rest) > 1; rest = bytes.TrimLeft(rest, " \t\r\n") {
		mark := []byte("*/")
		if rest[1] == '/' {
			mark = []byte("\n")
		}
		n := bytes.Index(rest[2:], mark)
		if n < 0 {
			return true
		}
		rest = rest[2+n+len(mark):]
	}
	return false
}

// writeComments writes what stands in front of a member that goes, when it says
// anything.
func (x *exchange) writeComments(space []byte) {
	if kept := bytes.TrimRight(space, " \t\r\n"); len(kept) > 0 {
		x.writeExchanged(kept)
	}
}

// passComma goes past the comma behind a member, when there is one, and writes
// the comments before it.
func (x *exchange) passComma(end int) {
	p := parser{text: x.text, i: end, comments: true}
	p.skipSpace()
	x.at, x.trailing = end, p.peekByte() == ','
	if x.trailing {
		x.writeComments(x.text[end:p.i])
		x.at = p.i + 1
	}
}

// writeEnd writes what stands behind the last member.
func (x *exchange) writeEnd(end int) {
	if x.trailing {
		x.writeComma()
	}
	x.writeExchanged(x.text[x.at:end])
}

// formatInPlace returns a member for a place that has its space already: on one
// line where the space has no line break.
func (s lineStyle) formatInPlace(e Entry, lead []byte, depth int) []byte {
	if bytes.Contains(lead, []byte("\n")) {
		return bytes.TrimPrefix(s.formatMember(e, depth), []byte(s.breakLine(depth)))
	}
	var value bytes.Buffer
	if err := json.Compact(&value, e.JSON); err != nil {
		return slices.Concat(quoteText(e.Name), []byte(": "), e.JSON)
	}
	return slices.Concat(quoteText(e.Name), []byte(": "), []byte(strings.TrimSpace(value.String())))
}
