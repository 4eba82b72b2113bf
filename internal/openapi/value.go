package openapi

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/definition"
)

// orderedObject is a mapping in the order in which it is printed. Values are object,
// []any, string, json.Number, bool and nil.
type orderedObject []objectMember

type objectMember struct {
	name  string
	value any
}

func (o orderedObject) memberValue(name string) (any, bool) {
	i := slices.IndexFunc(o, func(m objectMember) bool { return m.name == name })
	if i < 0 {
		return nil, false
	}
	return o[i].value, true
}

func (o orderedObject) hasMember(name string) bool {
	_, ok := o.memberValue(name)
	return ok
}

func (o orderedObject) textOf(name string) string {
	v, _ := o.memberValue(name)
	s, _ := v.(string)
	return s
}

func (o *orderedObject) addMember(name string, value any) { *o = append(*o, objectMember{name, value}) }

// setMember replaces a member or adds it.
func (o *orderedObject) setMember(name string, value any) {
	if i := slices.IndexFunc(*o, func(m objectMember) bool { return m.name == name }); i >= 0 {
		(*o)[i].value = value
		return
	}
	o.addMember(name, value)
}

func (o *orderedObject) removeMember(name string) {
	*o = slices.DeleteFunc(*o, func(m objectMember) bool { return m.name == name })
}

// MarshalJSON writes the members in their order.
func (o orderedObject) MarshalJSON() ([]byte, error) {
	return []byte(jsonInline(o)), nil
}

// writeInline writes a value on one line, with a blank behind colons and commas:
// JSON is YAML too. quote writes texts and names.
func writeInline(b *strings.Builder, v any, quote func(string) string) {
	switch v := v.(type) {
	case orderedObject:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quote(m.name) + ": ")
			writeInline(b, m.value, quote)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeInline(b, item, quote)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(quote(v))
	case json.Number:
		b.WriteString(v.String())
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteString("null")
	}
}

func jsonText(s string) string {
	text, _ := definition.Compact(s) // A string always encodes.
	return string(text)
}

func jsonInline(v any) string {
	var b strings.Builder
	writeInline(&b, v, jsonText)
	return b.String()
}

func jsonSize(v any) int { return len(jsonInline(v)) }

func countKeys(v any) int {
	n := 0
	switch v := v.(type) {
	case orderedObject:
		for _, m := range v {
			n += 1 + countKeys(m.value)
		}
	case []any:
		for _, item := range v {
			n += countKeys(item)
		}
	}
	return n
}
