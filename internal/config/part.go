package config

import (
	"encoding/json"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// Part is one thing that a file declares and that is judged elsewhere: an
// action, an upstream server or a plugin. The keys inside it are checked by the code that makes
// tools of it; this package knows its name. It is immutable.
type Part struct {
	// ID is an action's id, the name of its tool, or the name of a server or plugin. It is
	// unique among those of its kind over all files.
	ID string
	// JSON is the part as one JSON object: keys in the order of the file,
	// each once, numbers as they are written. The caller must not change it.
	JSON json.RawMessage
	// Dir is the absolute folder of the file in which the part stands, at
	// which its relative paths are anchored.
	Dir string

	// key is the dotted key of the part, file and node where it stands.
	key  string
	file *file
	node *yamldoc.Value
	// name is where its name stands when that is a key.
	name yamldoc.Position
}

// Fault returns a fault at a JSON pointer (RFC 6901) inside the part, whose
// text begins with the dotted key as all texts of this package do. It stands
// at the key that the pointer ends with, or at that element of a list; what is
// not in the file is placed at its nearest parent.
func (p Part) Fault(pointer, message string) yamldoc.Fault {
	if p.file == nil {
		return yamldoc.Fault{Key: p.key, Message: message}
	}
	at, key, named := p.findPosition(pointer)
	if named {
		return p.file.FaultAtKey(at, key, key+": "+message)
	}
	return p.file.FaultAt(at, key, key+": "+message)
}

// Source returns the place of a JSON pointer inside the part, or of its
// nearest parent, as file:line:column; empty for the zero Part.
func (p Part) Source(pointer string) string {
	if p.file == nil {
		return ""
	}
	at, _, _ := p.findPosition(pointer)
	return p.file.PositionText(at)
}

// findPosition returns the place of a pointer, its dotted key, and whether a key
// stands at that place.
func (p Part) findPosition(pointer string) (at yamldoc.Position, key string, named bool) {
	n := p.node
	at, key = n.At, p.key
	if p.name != (yamldoc.Position{}) {
		at, named = p.name, true
	}
	for _, segment := range yamldoc.SplitPointer(pointer) {
		key = joinKey(key, segment)
		if n != nil {
			n, at, named = n.Child(segment, at, named)
		}
	}
	return at, key, named
}
