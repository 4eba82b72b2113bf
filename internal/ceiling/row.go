package ceiling

import (
	"encoding/json"
	"maps"
)

// Row is what becomes of one argument, for those who ask why.
type Row struct {
	// Argument is the argument as a JSON pointer, with "*" for each item of a list;
	// empty for all arguments together.
	Argument string `json:"argument"`
	// Declared is the schema that the tool has for it; nil when it declares none.
	Declared json.RawMessage `json:"declared,omitempty"`
	// Ceiling is what the role says of it.
	Ceiling json.RawMessage `json:"ceiling"`
	// Granted is the schema that remains, without members of sets and without what
	// only holds a call; nil when no value remains, or the tool declares none.
	Granted json.RawMessage `json:"granted,omitempty"`
	// Outside is what becomes of a call with another value.
	Outside Action `json:"outside"`
	// Key is where the role says it.
	Key string `json:"key"`
	// Source is the place of the key in a file; empty when that is not known.
	Source string `json:"source,omitempty"`
	// Sets are the sets that Ceiling names; nil for none.
	Sets []string `json:"-"`
}

// Rows returns a row for each argument of which the ceilings say something. Narrowed is
// the schema of the tool as [Narrow] returns it.
func Rows(tool, narrowed json.RawMessage, ceilings []*Ceiling) (rows []Row) {
	declared, err := decodeDeclared(tool)
	granted, bad := decodeDeclared(narrowed)
	if err != nil || bad != nil {
		return nil
	}
	for _, c := range ceilings {
		rows = c.root.appendRows(rows, "", declared, granted)
	}
	return rows
}

func (n *node) appendRows(rows []Row, pointer string, declared, granted map[string]any) []Row {
	if n == nil {
		return rows
	}
	if said := n.ownText(); said != nil {
		rows = append(rows, Row{
			Argument: pointer, Declared: encodeSchema(declared), Ceiling: said, Granted: encodeSchema(granted), Outside: n.outside, Key: n.key, Sets: n.known,
		})
	}
	for _, name := range n.names {
		rows = n.props[name].appendRows(rows, pointer+"/"+escapePointer(name), propertyOf(declared, name), propertyOf(granted, name))
	}
	return n.items.appendRows(rows, pointer+"/*", itemsOf(declared), itemsOf(granted))
}

// ownText returns what a fragment says of a value itself, as JSON; nil for nothing.
func (n *node) ownText() json.RawMessage {
	if n.never {
		return json.RawMessage("false")
	}
	words := maps.Clone(n.words)
	if words == nil {
		words = map[string]any{}
	}
	if len(n.known) > 0 {
		words["known"] = n.known
	}
	if n.sum != nil {
		sum := map[string]any{"max": n.sum.Max, "per": n.sum.Per.String()}
		if n.sum.By != "" {
			sum["by"] = n.sum.By
		}
		words["sum"] = sum
	}
	if n.untrusted != "" {
		words["from_untrusted"] = n.untrusted
	}
	if len(words) == 0 {
		return nil
	}
	if n.outside != Refuse {
		words["else"] = n.outside
	}
	return encodeSchema(words)
}

// encodeSchema returns a decoded schema as JSON; nil stays nil.
func encodeSchema(s map[string]any) json.RawMessage {
	if s == nil {
		return nil
	}
	// What was decoded from JSON can be encoded.
	text, _ := json.Marshal(s)
	return text
}

func propertyOf(s map[string]any, name string) map[string]any {
	props, _ := s["properties"].(map[string]any)
	sub, _ := props[name].(map[string]any)
	return sub
}

func itemsOf(s map[string]any) map[string]any {
	sub, _ := s["items"].(map[string]any)
	return sub
}
