package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxPlainNodes bounds the subschemas of a schema that is plain: so few cannot combine
// too many of them at one place.
const maxPlainNodes = 200

// isPlainSchema reports whether a decoded schema surely compiles: it has only keywords
// that most tools use, with values that each draft of JSON Schema takes. Any other
// schema has to be compiled to know. Defaults says that those in it are checked, too.
func isPlainSchema(doc any, defaults bool) bool {
	p := plainChecker{defaults: defaults, left: maxPlainNodes}
	if m, ok := doc.(map[string]any); ok {
		draft, given := m["$schema"]
		if text, _ := draft.(string); given && !slices.Contains(plainDrafts, text) {
			return false
		}
	}
	return p.isPlain(doc, true)
}

// plainDrafts are the drafts whose plain keywords mean the same.
var plainDrafts = []string{
	"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema",
}

// plainChecker follows a schema whose subschemas are few.
type plainChecker struct {
	defaults bool // of properties count
	left     int  // subschemas
	choice   int  // how deep in combinations it is
}

func (p *plainChecker) isPlain(v any, top bool) bool {
	if p.left--; p.left < 0 {
		return false
	}
	m, ok := v.(map[string]any)
	if !ok {
		_, is := v.(bool)
		return is
	}
	for key, value := range m {
		if !p.isPlainKeyword(key, value, top) {
			return false
		}
	}
	def, given := m["default"]
	return !given || !p.defaults || p.choice == 0 && isPlainDefault(m, def)
}

func (p *plainChecker) isPlainKeyword(key string, value any, top bool) bool {
	switch key {
	case "$schema":
		return top
	case "type":
		return isPlainType(value)
	case "title", "description", "format":
		_, ok := value.(string)
		return ok
	case "default":
		return true // see isPlain
	case "const":
		return !isContainer(value)
	case "examples":
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, isContainer)
	case "enum":
		return hasPlainChoice(value)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		_, ok := value.(json.Number)
		return ok
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		n, ok := value.(json.Number)
		return ok && len(n) < 10 && isDigits(string(n))
	case "pattern":
		text, ok := value.(string)
		if !ok {
			return false
		}
		_, err := compilePattern(text)
		return err == nil
	case "required":
		return isPlainNames(value)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		_, ok := value.(bool)
		return ok
	case "items", "additionalProperties":
		return p.isPlain(value, false)
	case "properties":
		return p.hasPlainProperties(value)
	case "anyOf", "oneOf", "allOf":
		return p.hasPlainChoices(value)
	default:
		return key == headerKey // it is checked apart
	}
}

func (p *plainChecker) hasPlainProperties(v any) bool {
	m, ok := v.(map[string]any)
	for name, sub := range m {
		if !isPlainName(name) || !p.isPlain(sub, false) {
			return false
		}
	}
	return ok
}

func (p *plainChecker) hasPlainChoices(v any) bool {
	p.choice++
	defer func() { p.choice-- }()
	list, ok := v.([]any)
	for _, sub := range list {
		if !p.isPlain(sub, false) {
			return false
		}
	}
	return ok && len(list) > 0
}

// isPlainName reports whether a name needs no escapes where a place is written.
func isPlainName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_' && r != '-' && r != '.' && r != '$'
	})
}

var plainTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

func isPlainType(v any) bool {
	if text, ok := v.(string); ok {
		return slices.Contains(plainTypes, text)
	}
	return isPlainNames(v) && len(v.([]any)) > 0 && !slices.ContainsFunc(v.([]any), func(one any) bool {
		return !slices.Contains(plainTypes, one.(string))
	})
}

// isPlainNames reports whether a value is a list of texts, none of them twice.
func isPlainNames(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(one any) bool { _, is := one.(string); return !is }) && areDistinct(list)
}

// hasPlainChoice reports whether a value lists texts, whole numbers and literals, none of
// them twice, which some drafts ask for.
func hasPlainChoice(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && areDistinct(list) && !slices.ContainsFunc(list, func(one any) bool {
		n, is := one.(json.Number)
		whole, plain := readPlainNumber(string(n))
		return isContainer(one) || is && (!plain || !whole || n == "-0")
	})
}

// areDistinct reports whether no text, number or literal is in a list twice.
func areDistinct(list []any) bool {
	seen := make(map[any]bool, len(list))
	for _, one := range list {
		if isContainer(one) || seen[one] {
			return false
		}
		seen[one] = true
	}
	return true
}

// isPlainDefault reports whether a default is of the type of its schema, which asks for
// nothing else.
func isPlainDefault(m map[string]any, v any) bool {
	for key := range m {
		switch key {
		case "type", "title", "description", "default", "examples", headerKey:
		case "items": // an empty list has none
		case "enum":
			if list, _ := m[key].([]any); isContainer(v) || !slices.Contains(list, v) {
				return false
			}
		default:
			return false
		}
	}
	switch v := v.(type) {
	case string:
		return m["type"] == "string"
	case bool:
		return m["type"] == "boolean"
	case json.Number:
		whole, plain := readPlainNumber(string(v))
		return plain && (m["type"] == "number" || m["type"] == "integer" && whole)
	case []any:
		return len(v) == 0 && m["type"] == "array"
	default:
		return false
	}
}
