package suggest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/schema"
)

// ownWords are the words of a ceiling that stand beside a choice and not within it.
var ownWords = []string{"known", "sum", "from_untrusted", "else", "description"}

// LoosenCeiling returns the ceiling of a role over a tool with each value added that alone
// held a call, so that calls with these values run without a person. It is not ok where that
// cannot be said, such as for a call that is held for what was read before.
func LoosenCeiling(role *yamldoc.Value, tool string, args json.RawMessage) (loosened *yamldoc.Value, ok bool) {
	today := findValue(role, "arguments", tool)
	v, err := schema.Decode(args, nil)
	object, isObject := v.(map[string]any)
	if err != nil || !isObject || today == nil || !isWithin(today, object, false) || isWithin(today, object, true) {
		return nil, false
	}
	loosened = cloneValue(today)
	for _, f := range today.Fields {
		value, given := object[f.Name]
		if !given || isWithin(newMapping(f.Name, f.Value), map[string]any{f.Name: value}, true) {
			continue
		}
		bound, beside := newMapping(), newMapping()
		for _, word := range f.Value.Fields {
			to := bound
			if slices.Contains(ownWords, word.Name) {
				to = beside
			}
			to.Fields = append(to.Fields, word)
		}
		if kind := jsonType(value); kind != "" && findValue(bound, "type") == nil && findValue(bound, "enum") == nil && findValue(bound, "const") == nil {
			// Within a choice, bounds do not imply a type.
			setValue(bound, newText(kind), "type")
		}
		exact := newMapping("const", treeOf(value))
		setValue(beside, &yamldoc.Value{Kind: yamldoc.KindList, Items: []*yamldoc.Value{bound, exact}}, "anyOf")
		setValue(loosened, beside, f.Name)
	}
	return loosened, isWithin(loosened, object, true)
}

// jsonType returns the type of a text, number or list as JSON Schema names it; empty for
// another one.
func jsonType(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	default:
		return ""
	}
}

// isWithin reports whether arguments are within a ceiling: allowed, or else at least held.
func isWithin(node *yamldoc.Value, args map[string]any, allowed bool) bool {
	c, err := ceiling.Compile("arguments", JSONOf(node), nil, nil)
	if err != nil {
		return false
	}
	j, err := c.Check(args, &ceiling.Rules{})
	return err == nil && !slices.ContainsFunc(j.Outside, func(o ceiling.Outside) bool {
		return allowed || o.Action != ceiling.Hold || o.Word != ""
	})
}

// treeOf returns a decoded value as a value of a tree.
func treeOf(v any) *yamldoc.Value {
	switch v := v.(type) {
	case string:
		return newText(v)
	case json.Number:
		return newNumber(string(v))
	case bool:
		if v {
			return &yamldoc.Value{Kind: yamldoc.KindBool, Text: "true"}
		}
		return newFalse()
	case []any:
		n := &yamldoc.Value{Kind: yamldoc.KindList}
		for _, item := range v {
			n.Items = append(n.Items, treeOf(item))
		}
		return n
	case map[string]any:
		n := newMapping()
		for name, item := range v {
			setValue(n, treeOf(item), name)
		}
		slices.SortFunc(n.Fields, func(a, b yamldoc.Field) int { return strings.Compare(a.Name, b.Name) })
		return n
	default:
		return &yamldoc.Value{}
	}
}

// GrowSet returns a set as a file declares it, with the members by which it grew.
func GrowSet(file *yamldoc.Value, set string, members []string) *yamldoc.Value {
	out := cloneValue(findValue(file, "known", set))
	if out == nil || out.Kind != yamldoc.KindMapping {
		out = newMapping()
	}
	list := newList(members)
	if was := findValue(out, "list"); was != nil {
		list.Items = append(slices.Clone(was.Items), list.Items...)
	}
	setValue(out, list, "list")
	return newMapping("known", newMapping(set, out))
}

// Below returns a value below keys.
func Below(n *yamldoc.Value, keys ...string) *yamldoc.Value {
	for _, key := range slices.Backward(keys) {
		n = newMapping(key, n)
	}
	return n
}
