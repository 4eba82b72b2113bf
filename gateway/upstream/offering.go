package upstream

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/schema"
)

// definitionLimits bounds one definition like package lock does: the largest in
// use are some 100 KiB.
var definitionLimits = schema.Limits{Depth: 48, Bytes: 1 << 20, Nodes: 20_000}

// definitionKey names a definition: a tool and a prompt by its name, a resource by its
// URI or its template.
type definitionKey struct {
	kind Kind
	key  string
}

// offering is one definition that a server offers.
type offering struct {
	definitionKey
	// raw is what the server sent; tree is its decoded form.
	raw  json.RawMessage
	tree map[string]any
	// digest is that of the canonical text: equal definitions have equal
	// digests, however they are written.
	digest string
	// fault says why it cannot be used; empty when it can.
	fault string
}

// newOffering reads a definition strictly. A repeated key, or anything beyond the
// limits, is a fault of this definition only.
func newOffering(kind Kind, raw json.RawMessage) *offering {
	d := &offering{definitionKey: definitionKey{kind: kind}, raw: raw}
	v, err := schema.Decode(raw, &definitionLimits)
	if err != nil {
		d.fault = "its definition cannot be read: " + err.Error()
		return d
	}
	tree, ok := v.(map[string]any)
	if !ok {
		d.fault = "its definition is not an object"
		return d
	}
	d.tree = tree
	if d.key = textOf(tree, kind.Key()); d.key == "" {
		d.fault = "its definition has no " + kind.Key()
	}
	doc := schema.Document{JSON: raw, Value: tree}
	d.digest = digest.Text(doc.Canonical())
	return d
}

// displayTitle returns the display title, from the member of either generation of the
// protocol.
func (d *offering) displayTitle() string {
	a, _ := d.tree["annotations"].(map[string]any)
	return cmp.Or(textOf(d.tree, "title"), textOf(a, "title"))
}

// isReadOnly reports whether the definition says that a call only reads.
func (d *offering) isReadOnly() bool {
	a, _ := d.tree["annotations"].(map[string]any)
	says, _ := a["readOnlyHint"].(bool)
	return says
}

// unfitReason says why the protocol requires clients to leave a tool out; empty when
// it does not. It applies even if the server gets no headers, because the
// clients of the gate send them.
func (d *offering) unfitReason() string {
	if d.kind != KindTool {
		return ""
	}
	if _, err := schema.Headers(d.tree["inputSchema"]); err != nil {
		return "its schema asks for headers that no client may send: " + err.Error()
	}
	return ""
}

// objectOf returns an object member of the definition; nil when it is absent.
func (d *offering) objectOf(key string) (any, error) {
	v, ok := d.tree[key]
	if !ok || v == nil {
		return nil, nil
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, errors.New("its " + key + " is not an object")
	}
	return v, nil
}
