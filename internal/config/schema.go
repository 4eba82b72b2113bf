package config

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// partSchemas are the schemas of actions and servers, whose loaders stand elsewhere,
// and of what they consist of.
//
//go:embed parts.schema.json
var partSchemas []byte

// Schema returns a JSON Schema (2020-12) of the keys that a configuration may
// have, for editors that complete and check keys. It says less than loading does:
// names that must exist are left open, and so is what fits only together. The caller
// owns the bytes.
func Schema() ([]byte, error) {
	t := newTable(allKeys())
	root := t.objectSchema("")
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(partSchemas, &parts); err != nil {
		return nil, fmt.Errorf("parts.schema.json: %w", err)
	}
	root["$defs"] = parts
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "sallyport.yaml"
	// The documents' form has no version; it stands alone.
	root["anyOf"] = []any{
		map[string]any{"required": root["required"]},
		map[string]any{"required": []string{"layers"}, "maxProperties": 1},
	}
	delete(root, "required")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(root)
	return b.Bytes(), err
}

// objectSchema returns the schema of a mapping with the keys below one.
func (t *table) objectSchema(parent string) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, name := range t.supportedBelow(parent) {
		r := t.byKey[joinKey(parent, name)]
		properties[name] = t.rowSchema(r)
		if r.Required {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	return s
}

// numbersOf writes words that are numbers as JSON does.
func numbersOf(words []string) (list []json.Number) {
	for _, w := range words {
		list = append(list, json.Number(w))
	}
	return list
}

func (t *table) rowSchema(r *row) map[string]any {
	var s map[string]any
	switch r.Type {
	case TypeText:
		s = map[string]any{"type": "string"}
		if r.words != nil {
			s["enum"] = r.words
		}
	case TypeDecimal:
		s = map[string]any{"type": "number"}
	case TypeNumber:
		s = map[string]any{"type": "integer"}
		if r.words != nil {
			s["enum"] = numbersOf(r.words)
		}
	case TypeBool:
		s = map[string]any{"type": "boolean"}
	case TypeTexts:
		item := map[string]any{"type": "string"}
		if r.words != nil {
			item["enum"] = r.words
		}
		s = map[string]any{"type": "array", "items": item}
		if r.refersTo != "" && !t.isSupported(r.refersTo) {
			s["maxItems"] = 0
		}
	case TypeMapping:
		s = t.objectSchema(r.Key)
	case TypeTextOrMapping:
		s = map[string]any{"anyOf": []any{t.rowSchema(t.byKey[r.short]), t.objectSchema(r.Key)}}
	case TypeNames:
		s = map[string]any{
			"type":                 "object",
			"patternProperties":    map[string]any{cmp.Or(r.form, "^[a-zA-Z0-9_-]{1,64}$"): t.rowSchema(t.byKey[r.Key+".<name>"])},
			"additionalProperties": false,
		}
		if r.some {
			s["minProperties"] = 1
		}
	case TypeChoices:
		item := t.objectSchema(r.Key + "[]")
		item["minProperties"], item["maxProperties"] = 1, 1
		s = map[string]any{"type": "array", "items": item}
	case TypeActions:
		s = map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/action"}}
	case TypeArguments:
		s = map[string]any{"type": "object", "additionalProperties": map[string]any{"type": []string{"object", "boolean"}}}
	case TypeEffects:
		s = map[string]any{"type": "object", "additionalProperties": map[string]any{
			"type": "object", "additionalProperties": false,
			"properties": map[string]any{"does": map[string]any{"$ref": "#/$defs/does"}, "destinations": map[string]any{"$ref": "#/$defs/destinations"}},
		}}
	case TypeRunner:
		s = map[string]any{"$ref": "#/$defs/runner"}
	case TypeServer:
		s = map[string]any{"$ref": "#/$defs/server"}
	case TypePlugin:
		s = map[string]any{"$ref": "#/$defs/plugin"}
	default:
		// Nothing is known about the value, so nothing is accepted.
		s = map[string]any{"not": map[string]any{}}
	}
	s["description"] = strings.ReplaceAll(r.Doc, "`", "")
	return s
}
