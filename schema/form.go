package schema

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/sallyport/sallyport"
)

// The bounds of a form: it is what a person fills in.
const (
	maxFormBytes  = 32 << 10
	maxFormFields = 32
)

// The keywords of forms, which clients turn into fields (MCP 2025-11-25,
// client/elicitation, "Requested schema"). There are no others, so that no
// client shows less than is asked.
var (
	formWords   = []string{"$schema", "type", "title", "description", "properties", "required", "additionalProperties"}
	choiceWords = []string{"const", "title"}
	listWords   = []string{"type", "enum", "anyOf", "oneOf"}
	fieldWords  = []string{
		"type", "title", "description", "default", "enum", "enumNames", "oneOf", "format", "pattern",
		"minLength", "maxLength", "minimum", "maximum", "items", "minItems", "maxItems", "uniqueItems",
	}
)

// CompileForm compiles the schema of a form: an object whose properties are
// texts, numbers, truth values, choices of texts, or lists of choices. There are
// no other fields unless it says so. A nil raw is a form without fields. The error is [Faults] with pointers into the
// schema.
func CompileForm(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		return Compile(nil)
	}
	doc, err := Decode(raw, &Limits{Bytes: maxFormBytes, Nodes: maxSchemaNodes})
	if err != nil {
		return nil, err
	}
	if f := checkForm(doc); len(f) > 0 {
		return nil, f.sortAndBound()
	}
	// A person fills in what is asked, unless the schema says otherwise.
	if top := doc.(map[string]any); top["additionalProperties"] == nil {
		top["additionalProperties"] = false
	}
	if raw, err = json.Marshal(doc); err != nil {
		return nil, err
	}
	return Compile(raw)
}

func checkForm(doc any) (f Faults) {
	top, ok := doc.(map[string]any)
	if !ok || top["type"] != "object" {
		return oneFault("/type", `must be "object"`)
	}
	f = append(f, checkKeywords("", top, formWords)...)
	if _, ok := top["additionalProperties"].(bool); !ok && top["additionalProperties"] != nil {
		f = append(f, oneFault("/additionalProperties", "must be true or false")...)
	}
	fields, _ := top["properties"].(map[string]any)
	if len(fields) > maxFormFields {
		return append(f, oneFault("/properties", "has more fields than a person fills in")...)
	}
	for name, v := range fields {
		f = append(f, checkField(formatPointer([]string{"properties", name}), v)...)
	}
	return f
}

func checkField(at string, v any) Faults {
	m, ok := v.(map[string]any)
	if !ok {
		return oneFault(at, "must be an object")
	}
	f := append(checkKeywords(at, m, fieldWords), checkChoices(at+"/oneOf", m["oneOf"])...)
	if m["type"] == "string" {
		f = append(f, checkTexts(at+"/enum", m["enum"])...)
	} else if m["enum"] != nil {
		f = append(f, oneFault(at+"/enum", "is for texts only")...)
	}
	f = append(f, checkTexts(at+"/enumNames", m["enumNames"])...)
	switch m["type"] {
	case "string", "number", "integer", "boolean":
		return f
	case "array":
		items, ok := m["items"].(map[string]any)
		if !ok || items["enum"] == nil && items["anyOf"] == nil && items["oneOf"] == nil {
			return append(f, oneFault(at+"/items", "must list choices")...)
		}
		f = append(f, checkKeywords(at+"/items", items, listWords)...)
		f = append(f, checkTexts(at+"/items/enum", items["enum"])...)
		f = append(f, checkChoices(at+"/items/anyOf", items["anyOf"])...)
		return append(f, checkChoices(at+"/items/oneOf", items["oneOf"])...)
	default:
		return append(f, oneFault(at+"/type", "must be string, number, integer, boolean or array")...)
	}
}

// checkTexts checks a list of texts: a client shows nothing else.
func checkTexts(at string, v any) Faults {
	list, ok := v.([]any)
	if v != nil && !ok || slices.ContainsFunc(list, func(item any) bool { _, text := item.(string); return !text }) {
		return oneFault(at, "must be a list of texts")
	}
	return nil
}

// checkChoices checks titled choices: {"const": "a", "title": "A"}.
func checkChoices(at string, v any) (f Faults) {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return oneFault(at, "must be a list of choices")
	}
	for _, item := range list {
		m, _ := item.(map[string]any)
		if _, text := m["const"].(string); !text {
			return oneFault(at, "each choice must have a const that is a text")
		}
		f = append(f, checkKeywords(at, m, choiceWords)...)
	}
	return f
}

// checkKeywords refuses keywords that forms do not have.
func checkKeywords(at string, m map[string]any, words []string) (f Faults) {
	for key := range m {
		if !slices.Contains(words, key) {
			f = append(f, Fault{Pointer: at + formatPointer([]string{key}), Message: "is no keyword of a form"})
		}
	}
	return f
}

// Fill returns a decoded object with the schema's defaults, validated. The
// error is [Faults]. The object is not changed; nil counts as empty.
func (s *Schema) Fill(values map[string]any) (map[string]any, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return nil, oneFault("", "is not a JSON value")
	}
	if values == nil {
		text = nil
	}
	doc, err := s.Arguments(text)
	if err == nil {
		return doc.Value, nil
	}
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return nil, e.Err
	}
	return nil, err
}
