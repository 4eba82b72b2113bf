package modelformat

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// schemaReducer makes a schema one that a dialect takes. It works on a tree of its
// own.
type schemaReducer struct {
	dialect Dialect
	// left lists keywords that were left out.
	left []string
}

// geminiKeywords are those of parametersJsonSchema (Gemini API, "JSON Schema
// support"), without propertyOrdering, which is no JSON Schema.
var geminiKeywords = []string{
	"$anchor", "$defs", "$id", "$ref", "additionalProperties", "anyOf", "description", "enum", "format", "items", "maxItems", "maximum",
	"minItems", "minimum", "oneOf", "prefixItems", "properties", "required", "title", "type",
}

// remarks are keywords that refuse nothing, so that leaving them out changes nothing.
var remarks = []string{"$comment", "$schema", "default", "deprecated", "examples", "readOnly", "writeOnly"}

// anthropicProperty is what Anthropic takes for the name of an argument.
var anthropicProperty = text.Pattern(`^[a-zA-Z0-9_.-]{1,64}$`)

// reduceRoot makes the whole schema that of an object, without alternatives at the
// top: OpenAI and Anthropic refuse all tools of a request for one such schema.
func (r *schemaReducer) reduceRoot(tree map[string]any) map[string]any {
	if ref, ok := tree["$ref"].(string); ok {
		tree = r.resolveRef(tree, ref)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if list, ok := tree[key].([]any); ok {
			r.mergeAlternatives(tree, list, key == "allOf")
			r.dropKeyword(tree, key)
		}
	}
	for _, key := range []string{"enum", "not", "const"} {
		r.dropKeyword(tree, key)
	}
	tree["type"] = "object"
	if _, ok := tree["properties"].(map[string]any); !ok {
		tree["properties"] = map[string]any{}
	}
	r.reduceTree(tree)
	if r.dialect == Anthropic {
		for name := range tree["properties"].(map[string]any) {
			if !anthropicProperty().MatchString(name) {
				r.left = append(r.left, "the name of an argument")
			}
		}
	}
	return tree
}

func (r *schemaReducer) dropKeyword(tree map[string]any, key string) {
	if _, ok := tree[key]; !ok {
		return
	}
	delete(tree, key)
	if !slices.Contains(remarks, key) {
		r.left = append(r.left, key)
	}
}

// resolveRef returns a schema that is a reference, with what it refers to in
// its place.
func (r *schemaReducer) resolveRef(tree map[string]any, ref string) map[string]any {
	for _, key := range []string{"$defs", "definitions"} {
		defs, _ := tree[key].(map[string]any)
		name, ok := strings.CutPrefix(ref, "#/"+key+"/")
		target, found := defs[name].(map[string]any)
		if !ok || !found {
			continue
		}
		out := maps.Clone(target)
		out[key] = defs
		delete(out, "$ref") // one step is what generators need
		return out
	}
	r.dropKeyword(tree, "$ref")
	return tree
}

// mergeAlternatives merges the arguments of alternatives into the whole. What
// every one of them needs is needed.
func (r *schemaReducer) mergeAlternatives(tree map[string]any, list []any, all bool) {
	properties, _ := tree["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	required, _ := tree["required"].([]any)
	// What the whole refuses, no alternative lets through.
	closed := tree["additionalProperties"] == false
	for _, item := range list {
		one, _ := item.(map[string]any)
		for name, schema := range objectOrNil(one["properties"]) {
			switch was, ok := properties[name]; {
			case !ok && !closed:
				properties[name] = schema
			case ok && !all && !reflect.DeepEqual(was, schema):
				properties[name] = map[string]any{"anyOf": []any{was, schema}}
			}
		}
		if more, ok := one["required"].([]any); ok && all {
			for _, name := range more {
				if !slices.Contains(required, name) {
					required = append(required, name)
				}
			}
		}
	}
	tree["properties"] = properties
	if len(required) > 0 {
		tree["required"] = required
	}
}

func objectOrNil(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// reduceTree reduces a schema and everything below it.
func (r *schemaReducer) reduceTree(tree map[string]any) {
	if r.dialect == Gemini {
		r.reduceForGemini(tree)
	}
	if _, ok := tree["items"]; !ok && isType(tree["type"], "array") && r.dialect != Anthropic && tree["prefixItems"] == nil {
		tree["items"] = map[string]any{}
	}
	for _, key := range []string{"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"} {
		for _, sub := range objectOrNil(tree[key]) {
			r.reduceBelow(sub)
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"} {
		r.reduceBelow(tree[key])
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		list, _ := tree[key].([]any)
		for _, sub := range list {
			r.reduceBelow(sub)
		}
	}
}

func (r *schemaReducer) reduceBelow(v any) {
	if tree, ok := v.(map[string]any); ok {
		r.reduceTree(tree)
	}
}

func isType(v any, name string) bool {
	if list, ok := v.([]any); ok {
		return slices.Contains(list, any(name))
	}
	return v == name
}

// reduceForGemini drops the keywords that Gemini does not have, and says with
// its own what they say.
func (r *schemaReducer) reduceForGemini(tree map[string]any) {
	r.respellForGemini(tree)
	if values, ok := tree["enum"].([]any); ok && slices.ContainsFunc(values, notPlain) {
		r.dropKeyword(tree, "enum")
	}
	if v, ok := tree["items"].(bool); ok {
		delete(tree, "items")
		if !v {
			r.left = append(r.left, "items")
		}
	}
	if _, ok := tree["patternProperties"]; ok && tree["additionalProperties"] != true {
		// What a pattern lets through would be refused.
		r.dropKeyword(tree, "additionalProperties")
	}
	for _, key := range slices.Collect(maps.Keys(tree)) {
		_, ref := tree["$ref"]
		if !slices.Contains(geminiKeywords, key) || ref && !strings.HasPrefix(key, "$") {
			r.dropKeyword(tree, key)
		}
	}
}

// respellForGemini replaces keywords by those of Gemini that say the same.
func (r *schemaReducer) respellForGemini(tree map[string]any) {
	if value, ok := tree["const"]; ok && tree["enum"] == nil {
		tree["enum"] = []any{value}
		delete(tree, "const")
	}
	if defs, ok := tree["definitions"].(map[string]any); ok && tree["$defs"] == nil {
		tree["$defs"] = defs
		delete(tree, "definitions")
	}
	if ref, ok := tree["$ref"].(string); ok {
		if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
			tree["$ref"] = "#/$defs/" + name
		}
	}
	if list, ok := tree["allOf"].([]any); ok && len(list) == 1 {
		// What else there may be counts from the properties beside it.
		_, closed := tree["properties"]
		for key, v := range objectOrNil(list[0]) {
			if _, ok := tree[key]; !ok && (key != "additionalProperties" || !closed) {
				tree[key] = v
			}
		}
		delete(tree, "allOf")
	}
	for from, to := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if n, ok := tree[from].(json.Number); ok && tree[to] == nil {
			tree[to] = n
			r.dropKeyword(tree, from)
		}
	}
}

// notPlain reports whether a value is no text and no number.
func notPlain(v any) bool {
	_, isText := v.(string)
	_, isNumber := v.(json.Number)
	return !isText && !isNumber
}
