// Package sample makes an example of the arguments of a tool from its schema.
package sample

import (
	"bytes"
	"encoding/json"
)

// property is what an example needs of the schema of an argument.
type property struct {
	Type       any                 `json:"type"`
	Default    json.RawMessage     `json:"default"`
	Const      json.RawMessage     `json:"const"`
	Enum       []json.RawMessage   `json:"enum"`
	Examples   []json.RawMessage   `json:"examples"`
	Minimum    json.RawMessage     `json:"minimum"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

// maxDepth bounds how deep objects are shown.
const maxDepth = 4

// Arguments returns an example with the required arguments, as a JSON object, or
// with the first of the usual ones where none is required. It is an example and
// may not satisfy every rule of the schema.
func Arguments(schema json.RawMessage, usual ...string) string {
	var p property
	if json.Unmarshal(schema, &p) != nil {
		return "{}"
	}
	if len(p.Required) == 0 && len(usual) > 0 {
		p.Required = usual[:1]
	}
	return string(p.object(0))
}

// object returns an object with the required properties, in their order.
func (p *property) object(depth int) []byte {
	out := []byte{'{'}
	for _, name := range p.Required {
		one, ok := p.Properties[name]
		if !ok {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		// A string can always be encoded.
		key, _ := json.Marshal(name)
		out = append(append(append(out, key...), ':'), one.value(depth+1)...)
	}
	return append(out, '}')
}

// value returns an example of one argument.
func (p *property) value(depth int) []byte {
	for _, list := range [][]json.RawMessage{{p.Const}, p.Examples, {p.Default}, p.Enum} {
		if len(list) > 0 && len(list[0]) > 0 {
			var b bytes.Buffer
			if json.Compact(&b, list[0]) == nil {
				return b.Bytes()
			}
		}
	}
	switch name, _ := p.Type.(string); name {
	case "object":
		if depth < maxDepth {
			return p.object(depth)
		}
		return []byte("{}")
	case "array":
		return []byte("[]")
	case "integer", "number":
		if len(p.Minimum) > 0 {
			return p.Minimum
		}
		return []byte("1")
	case "boolean":
		return []byte("true")
	case "null":
		return []byte("null")
	default:
		return []byte(`"..."`)
	}
}
