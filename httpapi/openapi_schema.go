package httpapi

import (
	"encoding/json"
	"strings"
)

// How a keyword of JSON Schema holds schemas.
type schemaHolder int

const (
	holdsNone  schemaHolder = iota // data: what looks like a schema in it is not one
	holdsOne                       // a schema, or a list of them
	holdsNamed                     // an object whose values are schemas
)

// holderOf returns how a keyword holds schemas. Older drafts' words are among
// them: a tool may bring such a schema.
func holderOf(name string) schemaHolder {
	switch name {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return holdsNamed
	case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "additionalProperties",
		"unevaluatedProperties", "propertyNames", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema":
		return holdsOne
	default:
		return holdsNone
	}
}

// embedSchema returns a tool's schema as a component of the document.
// References in it are relative to the schema; in the document they would lead
// from its root, so that they get the component's place in front. A schema that
// names itself, its dialect or anchors becomes a resource of its own instead,
// within which references stay as they are.
func embedSchema(schema json.RawMessage, component string) any {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(schema)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		// The registry compiled it, so that this cannot happen.
		return true
	}
	top, ok := v.(map[string]any)
	if !ok {
		return v
	}
	_, dialect := top["$schema"]
	if dialect || hasOwnNames(top) {
		if _, has := top["$id"]; !has {
			top["$id"] = "urn:sallyport:" + component
		}
		return top
	}
	visitSchemas(top, func(s map[string]any) {
		if ref, ok := s["$ref"].(string); ok && strings.HasPrefix(ref, "#") {
			s["$ref"] = "#/components/schemas/" + component + strings.TrimPrefix(ref, "#")
		}
	})
	return top
}

// hasOwnNames reports whether a schema or one within it has a name of its own.
func hasOwnNames(schema map[string]any) (named bool) {
	visitSchemas(schema, func(s map[string]any) {
		for _, k := range []string{"$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"} {
			_, has := s[k].(string)
			named = named || has
		}
	})
	return named
}

// visitSchemas visits a schema and those within it.
func visitSchemas(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			visitSchemas(item, visit)
		}
	case map[string]any:
		visit(v)
		for name, inner := range v {
			switch holderOf(name) {
			case holdsOne:
				visitSchemas(inner, visit)
			case holdsNamed:
				if named, ok := inner.(map[string]any); ok {
					for _, s := range named {
						visitSchemas(s, visit)
					}
				}
			case holdsNone:
			}
		}
	}
}
