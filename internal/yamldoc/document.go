package yamldoc

import (
	"fmt"
	"strings"
)

// Document is a YAML or JSON text that stands alone, read as strictly as a
// configuration: one document, UTF-8, no key twice, no anchors and tags. It is
// immutable.
type Document struct{ source *Source }

// ReadDocument reads a text. name is what faults call it. The error is
// [Faults].
func ReadDocument(name string, data []byte, b Bounds) (*Document, error) {
	f := &Source{Name: name}
	var c Collector
	faults := f.Parse(data, b)
	if f.Root == nil && len(faults) == 0 {
		faults = []TextFault{{Position{1, 1}, "the file is empty"}}
	}
	for _, t := range append(faults, duplicateKeys(f.Root)...) {
		c.Add(f, Fault{File: name, Line: t.At.Line, Column: t.At.Column, Message: t.Message})
	}
	if err := c.Join(); err != nil {
		return nil, err
	}
	return &Document{f}, nil
}

// duplicateKeys reports the keys that are twice in one mapping. Depth is
// bounded by the parsers.
func duplicateKeys(n *Value) (faults []TextFault) {
	if n == nil {
		return nil
	}
	seen := make(map[string]Position, len(n.Fields))
	for _, f := range n.Fields {
		if first, dup := seen[f.Name]; dup {
			faults = append(faults, TextFault{f.At, fmt.Sprintf("the key %s stands twice: first in line %d", Quote(f.Name), first.Line)})
		} else {
			seen[f.Name] = f.At
		}
		faults = append(faults, duplicateKeys(f.Value)...)
	}
	for _, item := range n.Items {
		faults = append(faults, duplicateKeys(item)...)
	}
	return faults
}

// Root is the value of the text.
func (d *Document) Root() Node { return Node{d.source.Root, d.source.Root.At} }

// Fault is a fault at the place of a value, with its source line.
func (d *Document) Fault(n Node, message string) Fault {
	return d.source.FaultAt(n.at, "", message)
}

// Place is where a value stands, as file:line:column.
func (d *Document) Place(n Node) string { return d.source.PositionText(n.at) }

// Node is one value of a [Document]. The zero Node is a value that is not
// there: every question about it is answered with no.
type Node struct {
	n  *Value
	at Position
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
		return KindNull.String()
	}
	return n.n.Kind.String()
}

// Position returns the line and the column.
func (n Node) Position() (line, column int) { return n.at.Line, n.at.Column }

// Same reports whether two are the same place of one document.
func (n Node) Same(m Node) bool { return n.n == m.n }

// hasKind reports whether the value is of a kind.
func (n Node) hasKind(k Kind) bool { return n.n != nil && n.n.Kind == k }

// IsNull reports whether the value is nothing, written out.
func (n Node) IsNull() bool { return n.hasKind(KindNull) }

// IsMapping reports whether the value is a mapping.
func (n Node) IsMapping() bool { return n.hasKind(KindMapping) }

// IsList reports whether the value is a list.
func (n Node) IsList() bool { return n.hasKind(KindList) }

// Text returns a text.
func (n Node) Text() (s string, ok bool) {
	if !n.hasKind(KindText) {
		return "", false
	}
	return n.n.Text, true
}

// Number returns a number as it is written.
func (n Node) Number() (s string, ok bool) {
	if !n.hasKind(KindNumber) {
		return "", false
	}
	return n.n.Text, true
}

// Bool returns a truth value.
func (n Node) Bool() (v, ok bool) {
	if !n.hasKind(KindBool) {
		return false, false
	}
	return n.n.IsTrue(), true
}

// Members returns what a mapping holds, in the order of the text; nil for
// anything else.
func (n Node) Members() []Member {
	if !n.hasKind(KindMapping) {
		return nil
	}
	out := make([]Member, len(n.n.Fields))
	for i, f := range n.n.Fields {
		out[i] = Member{f.Name, Node{f.Value, f.At}}
	}
	return out
}

// Items returns what a list holds; nil for anything else.
func (n Node) Items() []Node {
	if !n.hasKind(KindList) {
		return nil
	}
	out := make([]Node, len(n.n.Items))
	for i, item := range n.n.Items {
		out[i] = Node{item, item.At}
	}
	return out
}

// Get returns a member of a mapping, the zero Node when there is none.
func (n Node) Get(name string) Node {
	if !n.hasKind(KindMapping) {
		return Node{}
	}
	for _, f := range n.n.Fields {
		if f.Name == name {
			return Node{f.Value, f.At}
		}
	}
	return Node{}
}

// Find follows a JSON pointer (RFC 6901), the zero Node when it leads nowhere.
func (n Node) Find(pointer string) Node {
	if pointer != "" && !strings.HasPrefix(pointer, "/") {
		return Node{}
	}
	for _, segment := range SplitPointer(pointer) {
		if n.n == nil {
			return Node{}
		}
		child, at, _ := n.n.Child(segment, Position{}, false)
		if at == (Position{}) {
			return Node{}
		}
		n = Node{child, at}
	}
	return n
}
