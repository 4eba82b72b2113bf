package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

//go:generate go test -run TestReferencePage -update

// Reference returns the table of keys, in the order of the documentation. The
// caller owns the slice.
func Reference() []KeyDoc {
	rows := allKeys()
	docs := make([]KeyDoc, len(rows))
	for i := range rows {
		docs[i] = rows[i].KeyDoc
	}
	return docs
}

// WriteReference writes the reference page of the configuration in Markdown.
// The error is the writer's.
func WriteReference(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	for _, k := range Reference() {
		fmt.Fprintf(&b, "\n### `%s`\n\n%s\n", k.Key, k.Doc)
		if !k.Supported {
			b.WriteString("\nNot supported yet: the key is refused by name.\n")
			continue
		}
		fmt.Fprintf(&b, "\n- Type: %s\n", k.Type)
		switch {
		case k.Required && !strings.Contains(k.Key, "."):
			b.WriteString("- Required in every file, but one with `layers` alone\n")
		case k.Required:
			b.WriteString("- Required\n")
		case k.Default != "":
			fmt.Fprintf(&b, "- Absent: %s\n", k.Default)
		}
		_, last := splitKey(k.Key)
		if k.Example != "" {
			fmt.Fprintf(&b, "- Example: `%s: %s`\n", last, k.Example)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

const referenceHead = `<!-- Code generated from the table in internal/config/keys.go. DO NOT EDIT. -->
# Configuration reference

The file is ` + "`sallyport.yaml`" + `, in YAML or JSON, at most 1 MiB of UTF-8. Every path in it is relative to its own folder and
may begin with ` + "`${workspace}`, `${home}` or `${self}`" + ` (the folder of the file). Anchors, aliases, merge keys, tags and a second
document are refused. An unknown or duplicate key, a wrong type or a name that does not exist stops the start, with file, line
and column. ` + "`--config`" + ` may be given more than once: later files add keys and never override; names, the actions and the keys of ` + "`security`" + `
of all files add up. A duration is a whole number with ` + "`s`, `m`, `h` or `d`" + `.

An absent list and an empty one differ: ` + "`[]`" + ` always means nothing.

## Keys
`

// Schema returns a JSON Schema (2020-12) of the supported keys for editors.
// The program does not use it: the table says more than a schema can.
func Schema() ([]byte, error) {
	t := newTable(allKeys())
	root := t.objectSchema("")
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
			"patternProperties":    map[string]any{"^[a-zA-Z0-9_-]{1,64}$": t.rowSchema(t.byKey[r.Key+".<name>"])},
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
		// What else an action has is judged when a tool is made of it.
		item := t.objectSchema(actionKey)
		delete(item, "additionalProperties")
		s = map[string]any{"type": "array", "items": item}
	case TypeServer:
		// What it has is judged when its tools are mounted.
		s = map[string]any{"type": "object"}
	default:
		// Nothing is known about the value, so nothing is accepted.
		s = map[string]any{"not": map[string]any{}}
	}
	s["description"] = strings.ReplaceAll(r.Doc, "`", "")
	return s
}
