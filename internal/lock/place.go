package lock

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport/schema"
)

// faultLocator finds where in a text a fault is.
type faultLocator struct {
	name string
	data []byte
}

// locateFaults gives every fault of the decoder or the schema its line and
// column.
func (l *faultLocator) locateFaults(err error) Faults {
	list, ok := errors.AsType[schema.Faults](err)
	if !ok {
		list = schema.Faults{{Message: err.Error()}}
	}
	out := make(Faults, len(list))
	for i, f := range list {
		offset, message := l.findOffset(f)
		line, column := l.positionOf(offset)
		out[i] = Fault{File: l.name, Line: line, Column: column, Message: message}
	}
	slices.SortStableFunc(out, func(a, b Fault) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return out
}

// findOffset returns the offset of a fault and what to say about it.
func (l *faultLocator) findOffset(f schema.Fault) (int, string) {
	if len(l.data) > maxBytes {
		return 0, f.Message
	}
	if !utf8.Valid(l.data) {
		return invalidByte(l.data), f.Message
	}
	// The decoder says where a text ends being JSON in words only.
	const mark = " at byte "
	if i := strings.LastIndex(f.Message, mark); i >= 0 && f.Pointer == "" {
		if n, err := strconv.Atoi(f.Message[i+len(mark):]); err == nil {
			return min(n-1, len(l.data)), f.Message[:i]
		}
	}
	if f.Pointer != "" {
		return newPointerWalker(l.data).findPointer(strings.Split(f.Pointer[1:], "/")), f.Pointer + ": " + f.Message
	}
	if end := newPointerWalker(l.data).endOfValue(); end < len(l.data) {
		return end, "the file " + f.Message
	}
	return newPointerWalker(l.data).findPointer(nil), "the file " + f.Message
}

func invalidByte(data []byte) int {
	i := 0
	for i < len(data) {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return i
}

// positionOf returns line and column of an offset.
func (l *faultLocator) positionOf(offset int) (line, column int) {
	before := l.data[:min(max(offset, 0), len(l.data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// pointerWalker follows a pointer through a text that is JSON, or is up to the fault.
type pointerWalker struct {
	dec  *json.Decoder
	data []byte
}

func newPointerWalker(data []byte) *pointerWalker {
	return &pointerWalker{dec: json.NewDecoder(bytes.NewReader(data)), data: data}
}

// endOfValue returns the offset of what follows the first value.
func (w *pointerWalker) endOfValue() int {
	var skipped json.RawMessage
	if err := w.dec.Decode(&skipped); err != nil {
		return len(w.data)
	}
	return w.nextOffset()
}

// findPointer returns the offset of the key, or element, that a pointer leads to, or
// of the deepest one on its way. Below an object that repeats a key it is that
// of the repetition.
func (w *pointerWalker) findPointer(tokens []string) int {
	at := w.nextOffset()
	for {
		if len(tokens) == 0 {
			if again, ok := w.findRepeatedKey(); ok {
				return again
			}
			return at
		}
		t, err := w.dec.Token()
		if err != nil {
			return at
		}
		found, ok := w.enterChild(t, tokens[0])
		if !ok {
			return at
		}
		at, tokens = found, tokens[1:]
	}
}

// nextOffset returns the offset at which the next token begins.
func (w *pointerWalker) nextOffset() int {
	i := int(w.dec.InputOffset())
	for i < len(w.data) && strings.IndexByte(" \t\r\n,:", w.data[i]) >= 0 {
		i++
	}
	return i
}

// enterChild moves to the value under a key of the object, or at an index of the
// list, that was just opened.
func (w *pointerWalker) enterChild(opened json.Token, token string) (int, bool) {
	for i := 0; w.dec.More(); i++ {
		at := w.nextOffset()
		switch opened {
		case json.Delim('{'):
			key, err := w.dec.Token()
			if s, ok := key.(string); err != nil || !ok || isToken(s, token) {
				return at, err == nil && ok
			}
		case json.Delim('['):
			if strconv.Itoa(i) == token {
				return at, true
			}
		default:
			return 0, false
		}
		var skipped json.RawMessage
		if err := w.dec.Decode(&skipped); err != nil {
			return 0, false
		}
	}
	return 0, false
}

// findRepeatedKey returns the offset of the first key that the object which begins
// here has already had.
func (w *pointerWalker) findRepeatedKey() (int, bool) {
	if t, err := w.dec.Token(); err != nil || t != json.Delim('{') {
		return 0, false
	}
	seen := map[string]bool{}
	for w.dec.More() {
		at := w.nextOffset()
		t, err := w.dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return 0, false
		}
		if seen[key] {
			return at, true
		}
		seen[key] = true
		var skipped json.RawMessage
		if err := w.dec.Decode(&skipped); err != nil {
			return 0, false
		}
	}
	return 0, false
}

// isToken reports whether a key is what a token of a pointer stands for, which
// may have been cut.
func isToken(key, token string) bool {
	key = escapeToken(key)
	head, cut := strings.CutSuffix(token, "…")
	return key == token || cut && strings.HasPrefix(key, head)
}

// escapeToken writes a key as a token of a pointer, in the form of [schema.Fault].
func escapeToken(key string) string {
	var b strings.Builder
	for _, r := range key {
		switch {
		case r == '~':
			b.WriteString("~0")
		case r == '/':
			b.WriteString("~1")
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

// toPointer writes a JSON pointer.
func toPointer(path []string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteString("/" + escapeToken(cleanName(token)))
	}
	return b.String()
}
