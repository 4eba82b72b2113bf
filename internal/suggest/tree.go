package suggest

import (
	"encoding/json"
	"slices"

	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

func newText(s string) *yamldoc.Value   { return &yamldoc.Value{Kind: yamldoc.KindText, Text: s} }
func newNumber(s string) *yamldoc.Value { return &yamldoc.Value{Kind: yamldoc.KindNumber, Text: s} }
func newFalse() *yamldoc.Value          { return &yamldoc.Value{Kind: yamldoc.KindBool, Text: "false"} }

// newList returns a list of texts.
func newList(items []string) *yamldoc.Value {
	n := &yamldoc.Value{Kind: yamldoc.KindList}
	for _, item := range items {
		n.Items = append(n.Items, newText(item))
	}
	return n
}

// newMapping returns a mapping of names, each followed by its value.
func newMapping(pairs ...any) *yamldoc.Value {
	n := &yamldoc.Value{Kind: yamldoc.KindMapping}
	for i := 0; i < len(pairs); i += 2 {
		n.Fields = append(n.Fields, yamldoc.Field{Name: pairs[i].(string), Value: pairs[i+1].(*yamldoc.Value)})
	}
	return n
}

// cloneValue returns a copy that shares nothing.
func cloneValue(n *yamldoc.Value) *yamldoc.Value {
	if n == nil {
		return nil
	}
	out := *n
	out.Items, out.Fields = slices.Clone(n.Items), slices.Clone(n.Fields)
	for i := range out.Items {
		out.Items[i] = cloneValue(out.Items[i])
	}
	for i := range out.Fields {
		out.Fields[i].Value = cloneValue(out.Fields[i].Value)
	}
	return &out
}

// findValue returns what stands below the keys, nil for nothing.
func findValue(n *yamldoc.Value, keys ...string) *yamldoc.Value {
	for _, key := range keys {
		if n == nil {
			return nil
		}
		i := slices.IndexFunc(n.Fields, func(f yamldoc.Field) bool { return f.Name == key })
		if i < 0 {
			return nil
		}
		n = n.Fields[i].Value
	}
	return n
}

// setValue puts a value below the keys of a mapping, which are added where they are missing.
func setValue(n *yamldoc.Value, v *yamldoc.Value, keys ...string) {
	i := slices.IndexFunc(n.Fields, func(f yamldoc.Field) bool { return f.Name == keys[0] })
	if i < 0 {
		i = len(n.Fields)
		n.Fields = append(n.Fields, yamldoc.Field{Name: keys[0], Value: newMapping()})
	}
	if len(keys) == 1 {
		n.Fields[i].Value = v
		return
	}
	if n.Fields[i].Value.Kind != yamldoc.KindMapping {
		n.Fields[i].Value = newMapping()
	}
	setValue(n.Fields[i].Value, v, keys[1:]...)
}

// ReplaceRole returns the text of a configuration, as a tree, in which a role is another
// one.
func ReplaceRole(file, role *yamldoc.Value, name string) *yamldoc.Value {
	out := cloneValue(file)
	setValue(out, role, "personalities", name)
	return out
}

// FindRole returns a role of the text of a configuration; nil when it is not there.
func FindRole(file *yamldoc.Value, name string) *yamldoc.Value {
	return findValue(file, "personalities", name)
}

// narrowNode returns what stands today of a value, with what was learnt added: both bound
// it.
func narrowNode(today, learnt *yamldoc.Value) *yamldoc.Value {
	switch {
	case today == nil || today.Kind == yamldoc.KindBool && today.IsTrue():
		return learnt
	case today.Kind != yamldoc.KindMapping:
		return today
	}
	out, plain := cloneValue(today), newMapping()
	for _, f := range learnt.Fields {
		was := findValue(out, f.Name)
		switch {
		case f.Name == "known" && was != nil:
			// The set that is named today bounds it.
		case f.Name == "items" && was != nil:
			setValue(out, narrowNode(was, f.Value), f.Name)
		case f.Name == "properties" && was != nil:
			setValue(out, narrowNodes(was, f.Value), f.Name)
		case f.Name == "known", f.Name == "items", f.Name == "properties":
			setValue(out, f.Value, f.Name)
		default:
			plain.Fields = append(plain.Fields, f)
		}
	}
	narrowPlain(out, plain)
	return out
}

// structured are the words of a ceiling that say nothing of a value as a whole.
var structured = append([]string{"items", "properties"}, ownWords...)

// narrowPlain adds keywords of JSON Schema to those of today. Beside each other they may mean
// something else than alone: bounds of numbers imply a number, unless a list of values is
// given.
func narrowPlain(out, learnt *yamldoc.Value) {
	isBound := func(f yamldoc.Field) bool { return f.Name == "minimum" || f.Name == "maximum" }
	other := func(f yamldoc.Field) bool { return !isBound(f) && !slices.Contains(structured, f.Name) }
	isPlain := func(f yamldoc.Field) bool { return isBound(f) || other(f) }
	switch {
	case len(learnt.Fields) == 0:
	case !slices.ContainsFunc(out.Fields, isPlain):
		out.Fields = append(out.Fields, learnt.Fields...)
	case !slices.ContainsFunc(out.Fields, other) && !slices.ContainsFunc(learnt.Fields, other):
		for _, f := range learnt.Fields {
			against := findValue(out, "maximum")
			if f.Name == "maximum" {
				against = findValue(out, "minimum")
			}
			if against != nil && isNarrower(f, against) && f.Value.Text != against.Text {
				continue // calls that were held alone: nothing would be left
			}
			if was := findValue(out, f.Name); was == nil || isNarrower(f, was) {
				setValue(out, f.Value, f.Name)
			}
		}
	default:
		also := cloneValue(learnt)
		if slices.ContainsFunc(also.Fields, isBound) && findValue(also, "enum") == nil {
			setValue(also, newList([]string{"number", "null"}), "type")
		}
		list := findValue(out, "allOf")
		if list == nil {
			list = &yamldoc.Value{Kind: yamldoc.KindList}
		}
		list.Items = append(list.Items, also)
		setValue(out, list, "allOf")
	}
}

// isNarrower reports whether a bound lets no more numbers through than another one.
func isNarrower(bound yamldoc.Field, was *yamldoc.Value) bool {
	x, ok := ceiling.Exact(json.Number(bound.Value.Text))
	y, fine := ceiling.Exact(json.Number(was.Text))
	if !ok || !fine {
		return false
	}
	if bound.Name == "minimum" {
		return x.Cmp(y) >= 0
	}
	return x.Cmp(y) <= 0
}

// narrowNodes is narrowNode for each argument of a mapping.
func narrowNodes(today, learnt *yamldoc.Value) *yamldoc.Value {
	if today == nil || today.Kind != yamldoc.KindMapping {
		return learnt
	}
	out := cloneValue(today)
	for _, f := range learnt.Fields {
		setValue(out, narrowNode(findValue(out, f.Name), f.Value), f.Name)
	}
	return out
}

// JSONOf returns a value of a tree as JSON.
func JSONOf(n *yamldoc.Value) json.RawMessage {
	raw, err := json.Marshal(plainOf(n))
	if err != nil {
		return nil // a number that JSON does not have
	}
	return raw
}

// plainOf returns a value of a tree as encoding/json takes it.
func plainOf(n *yamldoc.Value) any {
	switch n.Kind {
	case yamldoc.KindText:
		return n.Text
	case yamldoc.KindNumber:
		return json.Number(n.Text)
	case yamldoc.KindBool:
		return n.IsTrue()
	case yamldoc.KindList:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = plainOf(item)
		}
		return list
	case yamldoc.KindMapping:
		fields := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			fields[f.Name] = plainOf(f.Value)
		}
		return fields
	default:
		return nil
	}
}
