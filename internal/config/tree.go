package config

import (
	"fmt"
	"strings"
)

// Document is a YAML or JSON text that is no configuration, read as strictly
// as one: one document, UTF-8, no key twice, no anchors and tags. It is
// immutable.
type Document struct{ source *source }

// ReadDocument reads a text. name is what faults call it. The error is
// [Faults].
func ReadDocument(name string, data []byte, b Bounds) (*Document, error) {
	f := &source{name: name}
	var c faultCollector
	faults := f.parse(data, b)
	if f.root == nil && len(faults) == 0 {
		faults = []textFault{{pos{1, 1}, "the file is empty"}}
	}
	for _, t := range append(faults, duplicateKeys(f.root)...) {
		c.add(f, Fault{File: name, Line: t.at.line, Column: t.at.col, Message: t.message})
	}
	if err := c.joinFaults(); err != nil {
		return nil, err
	}
	return &Document{f}, nil
}

// duplicateKeys reports the keys that are twice in one mapping. Depth is
// bounded by the parsers.
func duplicateKeys(n *node) (faults []textFault) {
	if n == nil {
		return nil
	}
	seen := make(map[string]pos, len(n.fields))
	for _, f := range n.fields {
		if first, dup := seen[f.name]; dup {
			faults = append(faults, textFault{f.at, fmt.Sprintf("the key %s stands twice: first in line %d", quoteShort(f.name), first.line)})
		} else {
			seen[f.name] = f.at
		}
		faults = append(faults, duplicateKeys(f.value)...)
	}
	for _, item := range n.items {
		faults = append(faults, duplicateKeys(item)...)
	}
	return faults
}

// Root is the value of the text.
func (d *Document) Root() Node { return Node{d.source.root, d.source.root.at} }

// Fault is a fault at the place of a value, with its source line.
func (d *Document) Fault(n Node, message string) Fault {
	return d.source.faultAt(n.at, "", message)
}

// Place is where a value stands, as file:line:column.
func (d *Document) Place(n Node) string { return d.source.positionText(n.at) }

// Node is one value of a [Document]. The zero Node is a value that is not
// there: every question about it is answered with no.
type Node struct {
	n  *node
	at pos
}

// Member is a key of a mapping with its value, whose place is that of the key.
type Member struct {
	// Name is the key.
	Name string
	// Node is the value.
	Node
}

// Present reports whether there is a value.
func (n Node) Present() bool { return n.n != nil }

// Kind says in words what the value is.
func (n Node) Kind() string {
	if n.n == nil {
		return kindNull.String()
	}
	return n.n.kind.String()
}

// Position returns the line and the column.
func (n Node) Position() (line, column int) { return n.at.line, n.at.col }

// Same reports whether two are the same place of one document.
func (n Node) Same(m Node) bool { return n.n == m.n }

// hasKind reports whether the value is of a kind.
func (n Node) hasKind(k kind) bool { return n.n != nil && n.n.kind == k }

// IsNull reports whether the value is nothing, written out.
func (n Node) IsNull() bool { return n.hasKind(kindNull) }

// IsMapping reports whether the value is a mapping.
func (n Node) IsMapping() bool { return n.hasKind(kindMap) }

// IsList reports whether the value is a list.
func (n Node) IsList() bool { return n.hasKind(kindList) }

// Text returns a text.
func (n Node) Text() (s string, ok bool) {
	if !n.hasKind(kindText) {
		return "", false
	}
	return n.n.text, true
}

// Number returns a number as it is written.
func (n Node) Number() (s string, ok bool) {
	if !n.hasKind(kindNumber) {
		return "", false
	}
	return n.n.text, true
}

// Bool returns a truth value.
func (n Node) Bool() (v, ok bool) {
	if !n.hasKind(kindBool) {
		return false, false
	}
	return n.n.isTrue(), true
}

// Members returns what a mapping holds, in the order of the text; nil for
// anything else.
func (n Node) Members() []Member {
	if !n.hasKind(kindMap) {
		return nil
	}
	out := make([]Member, len(n.n.fields))
	for i, f := range n.n.fields {
		out[i] = Member{f.name, Node{f.value, f.at}}
	}
	return out
}

// Items returns what a list holds; nil for anything else.
func (n Node) Items() []Node {
	if !n.hasKind(kindList) {
		return nil
	}
	out := make([]Node, len(n.n.items))
	for i, item := range n.n.items {
		out[i] = Node{item, item.at}
	}
	return out
}

// Get returns a member of a mapping, the zero Node when there is none.
func (n Node) Get(name string) Node {
	if !n.hasKind(kindMap) {
		return Node{}
	}
	for _, f := range n.n.fields {
		if f.name == name {
			return Node{f.value, f.at}
		}
	}
	return Node{}
}

// Find follows a JSON pointer (RFC 6901), the zero Node when it leads nowhere.
func (n Node) Find(pointer string) Node {
	if pointer != "" && !strings.HasPrefix(pointer, "/") {
		return Node{}
	}
	for _, segment := range splitPointer(pointer) {
		if n.n == nil {
			return Node{}
		}
		child, at, _ := n.n.childAt(segment, pos{}, false)
		if at == (pos{}) {
			return Node{}
		}
		n = Node{child, at}
	}
	return n
}
