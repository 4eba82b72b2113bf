package lock

import (
	"encoding/json"
	"fmt"

	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/schema"
)

// definitionLimits bounds one definition. The largest in use are some 100 KiB;
// the depth leaves room for what the file puts around it.
var definitionLimits = schema.Limits{Depth: 48, Bytes: 1 << 20, Nodes: 20_000}

// canonicalJSON returns the canonical JSON of any value: the project's form, see
// [schema.Document.Canonical].
func canonicalJSON(v any) ([]byte, error) {
	const before, after = `{"v":`, `}`
	text, err := json.Marshal(map[string]any{"v": v})
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	d, err := schema.Parse(text)
	if err != nil {
		return nil, err
	}
	text = d.Canonical()
	return text[len(before) : len(text)-len(after)], nil
}

// digestOf is the digest of a value in canonical JSON. What this package
// decoded or made has that form. A value that is too large or deep for it has
// the digest of its JSON as it is: two such values never share one, though
// equal ones may differ, which only means another look at them.
func digestOf(v any) string {
	text, err := canonicalJSON(v)
	if err != nil {
		text, _ = json.Marshal(v)
	}
	return digest.Text(text)
}

// decodeObject decodes a definition.
func decodeObject(raw json.RawMessage) (map[string]any, error) {
	v, err := schema.Decode(raw, &definitionLimits)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errNotObject
	}
	return m, nil
}

// toJSONValue returns a Go value as JSON values.
func toJSONValue(v any) (any, error) {
	text, err := canonicalJSON(v)
	if err != nil {
		return nil, err
	}
	return schema.Decode(text, nil)
}
