package gateway

import (
	"bytes"
	"encoding/json"
)

// mirrorKey is the keyword by which a schema asks clients to repeat an argument
// in a header of HTTP. A server that offers it has to hold the two against each
// other. Here the body alone says what is called with what, so that the keyword
// is not offered, whoever wrote the schema.
const mirrorKey = "x-mcp-header"

// Bounds of what is looked through. A schema beyond them is offered as an
// object of anything: the gate holds the arguments to the whole one anyway.
const (
	maxMirrorFields = 2000
	maxMirrorDepth  = 64
)

// unmirrored returns a schema without the keyword. Clients look for it at
// properties, however deep; everything else stays as it is written.
func unmirrored(schema json.RawMessage) json.RawMessage {
	if !bytes.Contains(schema, []byte("-header")) && !bytes.Contains(schema, []byte(`\u`)) {
		return schema
	}
	out, ok := appendUnmirrored(nil, blank(schema), 0)
	if !ok {
		return json.RawMessage(`{"type":"object"}`)
	}
	return out
}

func appendUnmirrored(out, schema []byte, depth int) ([]byte, bool) {
	if len(schema) == 0 || schema[0] != '{' {
		return append(out, schema...), true
	}
	return appendFields(out, schema, depth, func(out []byte, m *member) ([]byte, bool) {
		if string(m.key) != "properties" || m.value[0] != '{' {
			return append(out, m.value...), true
		}
		return appendFields(out, m.value, depth+1, func(out []byte, p *member) ([]byte, bool) {
			return appendUnmirrored(out, p.value, depth+2)
		})
	})
}

// appendFields writes an object anew, each value as write does. At even depths
// it is a schema, whose keyword goes; at odd ones its keys are names.
func appendFields(out, object []byte, depth int, write func([]byte, *member) ([]byte, bool)) ([]byte, bool) {
	all, err := fields(nil, object, maxMirrorFields)
	if err != nil || depth > maxMirrorDepth {
		return nil, false
	}
	out = append(out, '{')
	for i := range all {
		if depth%2 == 0 && string(all[i].key) == mirrorKey {
			continue
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(appendText(out, string(all[i].key)), ':')
		var ok bool
		if out, ok = write(out, &all[i]); !ok {
			return nil, false
		}
	}
	return append(out, '}'), true
}
