package ceiling

import (
	"encoding/json"
	"slices"
)

// checkValues refuses values of which none can be one of the argument.
func (c *compiler) checkValues(n *node, at place, declared map[string]any) {
	if values, ok := n.words["enum"].([]any); ok {
		if len(values) == 0 {
			c.addFault(at.within("enum"), "an empty list lets no value through; false says so")
		} else if !slices.ContainsFunc(values, func(v any) bool { return mayBe(declared, typesOf(v)...) }) {
			c.addFault(at.within("enum"), "the tool takes %v here, and no value of the list is one", declared["type"])
		}
	}
	if v, is := n.words["const"]; is && !mayBe(declared, typesOf(v)...) {
		c.addFault(at.within("const"), "the tool takes %v here, which this value is not", declared["type"])
	}
}

// typesOf returns the types of JSON Schema that a value has.
func typesOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{"string"}
	case bool:
		return []string{"boolean"}
	case []any:
		return []string{"array"}
	case map[string]any:
		return []string{"object"}
	case json.Number:
		if r, ok := Exact(v); ok && !r.IsInt() {
			return []string{"number"}
		}
		return []string{"number", "integer"}
	default:
		return []string{"null"}
	}
}

// mayBe reports whether a value of one of the types may satisfy a schema, as far as its
// keyword type says.
func mayBe(declared map[string]any, types ...string) bool {
	switch want := declared["type"].(type) {
	case string:
		return slices.Contains(types, want)
	case []any:
		return slices.ContainsFunc(want, func(one any) bool { text, _ := one.(string); return slices.Contains(types, text) })
	default:
		return true
	}
}
