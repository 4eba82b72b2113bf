package modelformat

import "slices"

// The limits of OpenAI's strict mode ("Structured Outputs", supported schemas).
const (
	strictProperties = 5000
	strictDepth      = 10
	strictEnum       = 1000
	strictText       = 120_000
)

var strictKeywords = []string{
	"$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum", "exclusiveMinimum", "format",
	"items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern", "properties", "required", "title", "type",
}

var strictFormats = []string{"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}

// isStrict reports whether a schema can be claimed to be one of strict mode: each
// object refuses what it does not name and needs all that it names.
func isStrict(tree map[string]any) bool {
	s := strictChecker{}
	return isType(tree["type"], "object") && tree["anyOf"] == nil && s.checkSchema(tree, 0) &&
		s.properties <= strictProperties && s.enum <= strictEnum && s.text <= strictText
}

// strictChecker counts what strict mode bounds.
type strictChecker struct{ properties, enum, text int }

func (s *strictChecker) checkSchema(tree map[string]any, depth int) bool {
	for key := range tree {
		if !slices.Contains(strictKeywords, key) {
			return false
		}
	}
	if format, ok := tree["format"].(string); ok && !slices.Contains(strictFormats, format) {
		return false
	}
	_, ref := tree["$ref"]
	_, alternatives := tree["anyOf"]
	_, enum := tree["enum"]
	_, constant := tree["const"]
	if tree["type"] == nil && !ref && !alternatives && !enum && !constant {
		return false
	}
	values, _ := tree["enum"].([]any)
	s.enum += len(values)
	for _, v := range values {
		if text, ok := v.(string); ok {
			s.text += len(text)
		}
	}
	return s.checkObject(tree, depth) && s.checkBelow(tree, depth)
}

// checkObject checks what an object says of its members.
func (s *strictChecker) checkObject(tree map[string]any, depth int) bool {
	properties := objectOrNil(tree["properties"])
	if !isType(tree["type"], "object") {
		return len(properties) == 0
	}
	required, _ := tree["required"].([]any)
	if tree["additionalProperties"] != false || tree["properties"] == nil || len(required) != len(properties) || depth > strictDepth {
		return false
	}
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return false
		}
		s.properties++
		s.text += len(name)
	}
	return true
}

// checkBelow checks the schemas in a schema.
func (s *strictChecker) checkBelow(tree map[string]any, depth int) bool {
	for _, key := range []string{"properties", "$defs"} {
		for _, v := range objectOrNil(tree[key]) {
			if sub, ok := v.(map[string]any); !ok || !s.checkSchema(sub, depth+1) {
				return false
			}
		}
	}
	list, _ := tree["anyOf"].([]any)
	if items, ok := tree["items"]; ok {
		list = append(slices.Clone(list), items)
	} else if isType(tree["type"], "array") {
		return false
	}
	for _, v := range list {
		if sub, ok := v.(map[string]any); !ok || !s.checkSchema(sub, depth+1) {
			return false
		}
	}
	return true
}
