package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

type keywordReader struct {
	c     *schemaConversion
	n     yamldoc.Node
	depth int

	v    orderedObject
	weak bool
	// open is true when a property was left out, so that undeclared ones
	// cannot be refused.
	open bool
}

func (k *keywordReader) noteDropped(n yamldoc.Node, format string, args ...any) {
	k.weak = k.c.noteDropped(n, format, args...)
}

// readSchema returns the schema. Annotations and unknown keywords say nothing
// about values and are left out.
func (k *keywordReader) readSchema() (v orderedObject, weak bool) {
	for _, m := range k.n.Members() {
		switch m.Name {
		case "type":
			k.readTypes(m.Node)
		case "description":
			if text, _ := m.Text(); k.c.request {
				if text = k.c.im.texts.cleanText(text, maxArgument); text != "" {
					k.v.addMember(m.Name, text)
				}
			}
		case "enum", "const":
			k.readValues(m)
		case "minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
			k.readNumber(m)
		case "uniqueItems":
			if is, ok := m.Bool(); ok && is && k.c.request {
				k.v.addMember(m.Name, true)
			}
		case "pattern", "format":
			k.readText(m)
		case "items", "prefixItems", "properties", "required", "additionalProperties", "allOf", "anyOf", "oneOf", "not":
			k.readNested(m)
		case "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames", "patternProperties", "dependentSchemas",
			"dependentRequired", "dependencies", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef":
			k.noteDropped(m.Node, "%s is not supported in an imported schema: it is left out", m.Name)
			k.open = k.open || m.Name == "patternProperties"
		}
	}
	if k.open {
		k.v.removeMember("additionalProperties")
	}
	k.describeDefault()
	k.addNull()
	return k.v, k.weak
}

// describeDefault puts the default into words: a value that is filled in would be
// sent, and overwrite what a partial update leaves as it is.
func (k *keywordReader) describeDefault() {
	n := k.n.Get("default")
	if !n.Present() || n.IsNull() || !k.c.request {
		return
	}
	v, ok := k.c.plainValue(n, 3)
	if !ok || jsonSize(v) > maxShort {
		return
	}
	text := k.v.textOf("description")
	if text != "" && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "…") {
		text += "."
	}
	word := strings.TrimSpace(text + " Default: " + jsonInline(v) + ".")
	k.v.setMember("description", k.c.im.texts.cleanText(word, maxArgument+2*maxShort))
}

var jsonTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

func (k *keywordReader) readTypes(n yamldoc.Node) {
	list := n.Items()
	if !n.IsList() {
		list = []yamldoc.Node{n}
	}
	var types []any
	for _, item := range list {
		s, _ := item.Text()
		if item.IsNull() {
			s = "null"
		}
		if !slices.Contains(jsonTypes, s) {
			k.noteDropped(item, "%s is no type of JSON: it is left out", quoteShort(s))
			return
		}
		if !slices.Contains(types, any(s)) {
			types = append(types, s)
		}
	}
	switch len(types) {
	case 0:
	case 1:
		k.v.addMember("type", types[0])
	default:
		k.v.addMember("type", types)
	}
}

func (k *keywordReader) readValues(m yamldoc.Member) {
	if !k.c.request {
		k.weak = true
		return
	}
	v, ok := k.c.plainValue(m.Node, 0)
	list, many := v.([]any)
	if m.Name == "enum" && (!many || len(list) == 0) {
		ok = false
	}
	if !ok {
		k.noteDropped(m.Node, "%s: a value that cannot be shown as it stands, or too many: it is left out", m.Name)
		return
	}
	if many && m.Name == "enum" {
		v = removeDuplicates(list)
	}
	k.v.addMember(m.Name, v)
}

// removeDuplicates removes values that are there already.
func removeDuplicates(list []any) []any {
	seen, out := map[string]bool{}, []any{}
	for _, v := range list {
		if text := jsonInline(v); !seen[text] {
			seen[text] = true
			out = append(out, v)
		}
	}
	return out
}

func (k *keywordReader) readNumber(m yamldoc.Member) {
	if !k.c.request {
		k.weak = true
		return
	}
	if exclusive, ok := m.Bool(); ok {
		k.readExclusive(m, exclusive)
		return
	}
	s, ok := m.Number()
	counts := strings.HasSuffix(m.Name, "Length") || strings.HasSuffix(m.Name, "Items") || strings.HasSuffix(m.Name, "Properties")
	ok = ok && isNumber(s) && (!counts || isCount(s)) && (m.Name != "multipleOf" || !strings.HasPrefix(s, "-") && strings.ContainsAny(s, "123456789"))
	switch {
	case !ok:
		k.noteDropped(m.Node, "%s: expected a number that it may have: it is left out", m.Name)
	case !k.v.hasMember(m.Name):
		k.v.addMember(m.Name, json.Number(s))
	}
}

// readExclusive reads the truth value of OpenAPI 3.0 beside minimum and
// maximum.
func (k *keywordReader) readExclusive(m yamldoc.Member, is bool) {
	bound := strings.ToLower(strings.TrimPrefix(m.Name, "exclusive"))
	s, ok := k.n.Get(bound).Number()
	if !is || !ok || !isNumber(s) || !strings.HasPrefix(m.Name, "exclusive") {
		return
	}
	k.v.setMember(m.Name, json.Number(s))
}

// formats are those that a model can keep to.
var formats = []string{"date-time", "date", "time", "duration", "email", "uuid", "uri", "hostname", "ipv4", "ipv6"}

func (k *keywordReader) readText(m yamldoc.Member) {
	s, ok := m.Text()
	switch {
	case m.Name == "format":
		if k.c.request && slices.Contains(formats, s) {
			k.v.addMember(m.Name, s)
		} else {
			k.weak = true
		}
	case !k.c.request:
		k.weak = true
	case !ok || !k.c.im.texts.isExact(s) || !k.c.im.isPattern(s):
		k.noteDropped(m.Node, "the pattern cannot be compiled, or not be shown: it is left out")
	default:
		k.v.addMember(m.Name, s)
	}
}

// addNull adds null as OpenAPI 3.0 says it.
func (k *keywordReader) addNull() {
	if is, _ := k.n.Get("nullable").Bool(); !is || !k.c.im.old {
		return
	}
	t, typed := k.v.memberValue("type")
	list, _ := t.([]any)
	if s, ok := t.(string); ok {
		list = []any{s}
	}
	if typed && !slices.Contains(list, any("null")) {
		k.v.setMember("type", append(list, "null"))
	}
	if values, ok := k.v.memberValue("enum"); ok && !slices.Contains(values.([]any), nil) {
		k.v.setMember("enum", append(slices.Clone(values.([]any)), nil))
	}
	if !typed && len(k.v) > 0 {
		text := k.v.textOf("description")
		k.v.removeMember("description")
		k.v = orderedObject{{"anyOf", []any{k.v, orderedObject{{"type", "null"}}}}}
		if text != "" {
			k.v.addMember("description", text)
		}
	}
}
