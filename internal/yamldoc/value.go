package yamldoc

import (
	"strconv"
	"strings"
)

// Kind classifies a node of the document tree.
type Kind int

// The kinds.
const (
	// KindNull is a key without a value, or null.
	KindNull Kind = iota
	// KindText is a text.
	KindText
	// KindNumber is a number as JSON or YAML writes it.
	KindNumber
	// KindBool is true or false.
	KindBool
	// KindList is a list.
	KindList
	// KindMapping is a mapping.
	KindMapping
	// KindOpaque is a place that is already at fault, such as an alias. It
	// is skipped, so that one mistake is reported once.
	KindOpaque
)

// String names the kind in a message.
func (k Kind) String() string {
	switch k {
	case KindNull:
		return "nothing"
	case KindText:
		return "text"
	case KindNumber:
		return "a number"
	case KindBool:
		return "true or false"
	case KindList:
		return "a list"
	case KindMapping:
		return "a mapping"
	default:
		return "something else"
	}
}

// Position is a place in a file. Lines and columns count from 1, columns in
// Unicode code points.
type Position struct {
	// Line and Column are 0 in the zero Position, which is no place.
	Line, Column int
}

// Value is one value of a document, the same for YAML and JSON.
type Value struct {
	// Kind says which of the other fields count.
	Kind Kind
	// At is where the value begins.
	At Position
	// Text is the decoded text, or the literal of a number or truth value.
	Text string
	// Items are the elements of a list.
	Items []*Value
	// Fields are the pairs of a mapping in the order of the text, duplicates
	// included.
	Fields []Field
}

// Field is one key of a mapping with its value.
type Field struct {
	// Name is the decoded key.
	Name string
	// At is where the key begins.
	At Position
	// Value is never nil.
	Value *Value
}

// IsTrue reports whether a value of KindBool says true.
func (n *Value) IsTrue() bool { return strings.EqualFold(n.Text, "true") }

// CheckText reports the first character of decoded text that no value may
// hold, in words; it is empty for good text. Escapes can
// bring characters that the check of the raw file cannot see.
func CheckText(s string) string {
	for _, r := range s {
		if why := badRune(r); why != "" {
			return why
		}
	}
	return ""
}

// SplitPointer splits a JSON pointer. A first part that is not empty is taken
// for a segment too.
func SplitPointer(pointer string) []string {
	pointer = strings.TrimPrefix(pointer, "/")
	if pointer == "" {
		return nil
	}
	parts := strings.Split(pointer, "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts
}

// Child returns what a segment of a pointer names, its place, and whether that
// is a key; nil and what was given for what is not there.
func (n *Value) Child(segment string, at Position, key bool) (*Value, Position, bool) {
	for _, f := range n.Fields {
		if f.Name == segment {
			return f.Value, f.At, true
		}
	}
	if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(n.Items) {
		return n.Items[i], n.Items[i].At, false
	}
	return nil, at, key
}
