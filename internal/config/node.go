package config

import (
	"strconv"
	"strings"
)

// kind classifies a node of the document tree.
type kind int

const (
	kindNull kind = iota
	kindText
	kindNumber
	kindBool
	kindList
	kindMap
	// kindOpaque is a place that is already at fault, such as an alias. It
	// is skipped, so that one mistake is reported once.
	kindOpaque
)

func (k kind) String() string {
	switch k {
	case kindNull:
		return "nothing"
	case kindText:
		return "text"
	case kindNumber:
		return "a number"
	case kindBool:
		return "true or false"
	case kindList:
		return "a list"
	case kindMap:
		return "a mapping"
	default:
		return "something else"
	}
}

// pos is a place in a file. Lines and columns count from 1, columns in
// Unicode code points.
type pos struct{ line, col int }

// node is one value of a document, the same for YAML and JSON.
type node struct {
	kind kind
	at   pos
	// text is the decoded text, or the literal of a number or truth value.
	text string
	// items are the elements of a list, fields the pairs of a mapping in
	// the order of the file, duplicates included.
	items  []*node
	fields []field
}

type field struct {
	name  string
	at    pos
	value *node
}

// isTrue reports whether a kindBool node says true.
func (n *node) isTrue() bool { return strings.EqualFold(n.text, "true") }

// checkText reports the first character of decoded text that no value of a
// configuration may hold, in words; it is empty for good text. Escapes can
// bring characters that the check of the raw file cannot see.
func checkText(s string) string {
	for _, r := range s {
		if why := badRune(r); why != "" {
			return why
		}
	}
	return ""
}

// splitPointer splits a JSON pointer. A first part that is not empty is taken
// for a segment too.
func splitPointer(pointer string) []string {
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

// childAt returns what a segment of a pointer names, its place, and whether that
// is a key; nil and what was given for what is not there.
func (n *node) childAt(segment string, at pos, key bool) (*node, pos, bool) {
	for _, f := range n.fields {
		if f.name == segment {
			return f.value, f.at, true
		}
	}
	if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(n.items) {
		return n.items[i], n.items[i].at, false
	}
	return nil, at, key
}
