package openapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// object is a mapping in the order in which it is printed. Values are object,
// []any, string, json.Number, bool and nil.
type object []member

type member struct {
	name  string
	value any
}

func (o object) get(name string) (any, bool) {
	i := slices.IndexFunc(o, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil, false
	}
	return o[i].value, true
}

func (o object) has(name string) bool {
	_, ok := o.get(name)
	return ok
}

// text returns a member that is a text.
func (o object) text(name string) string {
	v, _ := o.get(name)
	s, _ := v.(string)
	return s
}

func (o *object) add(name string, value any) { *o = append(*o, member{name, value}) }

// set replaces a member or adds it.
func (o *object) set(name string, value any) {
	if i := slices.IndexFunc(*o, func(m member) bool { return m.name == name }); i >= 0 {
		(*o)[i].value = value
		return
	}
	o.add(name, value)
}

func (o *object) remove(name string) {
	*o = slices.DeleteFunc(*o, func(m member) bool { return m.name == name })
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	return []byte(inline(o)), nil
}

// writeJSON writes a value on one line, with a blank behind colons and commas:
// it is YAML too.
func writeJSON(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case object:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoted(m.name) + ": ")
			writeJSON(b, m.value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeJSON(b, item)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(quoted(v))
	case json.Number:
		b.WriteString(v.String())
	case bool:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	default:
		b.WriteString("null")
	}
}

// quoted is a text as JSON writes it.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // A string always encodes.
	return strings.TrimSuffix(b.String(), "\n")
}

// inline is a value as JSON.
func inline(v any) string {
	var b bytes.Buffer
	writeJSON(&b, v)
	return b.String()
}

// size is the length of a value as JSON.
func size(v any) int { return len(inline(v)) }

// keys counts the keys of a value.
func keys(v any) int {
	n := 0
	switch v := v.(type) {
	case object:
		for _, m := range v {
			n += 1 + keys(m.value)
		}
	case []any:
		for _, item := range v {
			n += keys(item)
		}
	}
	return n
}
