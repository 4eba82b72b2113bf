package action

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport/sallyport/internal/definition"
)

// joining are the keywords beside which a refusal of undeclared arguments would
// also refuse what they declare.
var joining = [...]string{
	"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas",
	"additionalProperties", "unevaluatedProperties",
}

func (d *actionDecoder) decodeParameters(at string, v any) json.RawMessage {
	given, ok := v.(map[string]any)
	if !ok {
		d.Fault(at, "expected a schema, or a mapping of names to schemas")
		return nil
	}
	if word, ok := given["type"].(string); ok {
		if word != "object" {
			d.Fault(definition.Below(at, "type"), "expected object: arguments are an object")
			return nil
		}
		given = maps.Clone(given)
	} else {
		d.short = true
		given = d.decodeProperties(at, given)
	}
	if !slices.ContainsFunc(joining[:], func(key string) bool { _, ok := given[key]; return ok }) {
		given["additionalProperties"] = false
	}
	return d.Raw(at, given)
}

// decodeProperties makes a schema of a mapping of names to schemas, on which
// "required" is true or false.
func (d *actionDecoder) decodeProperties(at string, given map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		one, ok := given[name].(map[string]any)
		if !ok {
			d.Fault(definition.Below(at, name), "expected a schema, such as {\"type\": \"string\"}")
			continue
		}
		if is, ok := one["required"].(bool); ok {
			one = maps.Clone(one)
			delete(one, "required")
			if is {
				required = append(required, name)
			}
		}
		properties[name] = one
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}
