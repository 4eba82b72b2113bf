package schema

import (
	"maps"
	"net/textproto"
	"slices"
	"strings"
)

// headerKey is the keyword by which the schema of a tool asks the clients of
// the Model Context Protocol to repeat an argument in a header of HTTP.
const headerKey = "x-mcp-header"

// headerPrefix begins the name of every such header.
const headerPrefix = "Mcp-Param-"

// maxHeaders bounds the arguments of a tool that are repeated: servers accept
// no more than about a hundred headers in all.
const maxHeaders = 64

// Header is an argument that clients repeat in a header of HTTP.
type Header struct {
	// Name is the whole name in the spelling that net/http gives it:
	// Mcp-Param- and what the schema says.
	Name string
	// Path is the properties that lead to the argument. Read only.
	Path []string
}

// Headers returns the arguments that a decoded schema of arguments wants
// repeated, in an order that is always the same. The error is [Faults]: the keyword
// belongs to properties of type string, integer or boolean that only properties
// lead to, and its value is a token of HTTP that occurs once in a schema, in any
// case.
func Headers(doc any) ([]Header, error) {
	h := headerFinder{usedNames: map[string]bool{}}
	h.walkSchema(doc, nil, nil, true)
	if len(h.found) > maxHeaders {
		h.addFault(nil, "asks for too many headers")
	}
	if len(h.faults) > 0 {
		return nil, h.faults.sortAndBound()
	}
	return h.found, nil
}

// Headers returns the arguments that clients repeat, as the function of that
// name does. They are shared: read only.
func (s *Schema) Headers() []Header { return s.headers }

// headerFinder finds the arguments that clients repeat in a header.
type headerFinder struct {
	found     []Header
	usedNames map[string]bool
	faults    Faults
}

func (h *headerFinder) addFault(at []string, message string) {
	if len(h.faults) <= maxFaults {
		h.faults = append(h.faults, Fault{formatPointer(at), message})
	}
}

// walkSchema walks a schema. at is its place, path the properties that lead
// to it; reached is false when something else does.
func (h *headerFinder) walkSchema(doc any, at, path []string, reached bool) {
	m, ok := doc.(map[string]any)
	if !ok {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		inner := append(at[:len(at):len(at)], key)
		switch key {
		case headerKey:
			h.addHeader(m, inner, path, reached)
		case "properties":
			h.walkNamed(m[key], inner, path, reached)
		case "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			h.walkNamed(m[key], inner, path, false)
		case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
			"additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
			"allOf", "anyOf", "oneOf", "not", "if", "then", "else":
			list, ok := m[key].([]any)
			if !ok {
				list = []any{m[key]}
			}
			for _, one := range list {
				h.walkSchema(one, inner, path, false)
			}
		}
	}
}

func (h *headerFinder) walkNamed(doc any, at, path []string, reached bool) {
	m, ok := doc.(map[string]any)
	if !ok {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		h.walkSchema(m[name], append(at[:len(at):len(at)], name), append(path[:len(path):len(path)], name), reached)
	}
}

func (h *headerFinder) addHeader(m map[string]any, at, path []string, reached bool) {
	word, _ := m[headerKey].(string)
	kind, _ := m["type"].(string)
	name := textproto.CanonicalMIMEHeaderKey(headerPrefix + word)
	switch {
	case !reached || len(path) == 0:
		h.addFault(at, "belongs to a property of the arguments, or of an object among them")
	case kind != "string" && kind != "integer" && kind != "boolean":
		h.addFault(at, "belongs to a property of type string, integer or boolean")
	case word == "" || strings.ContainsFunc(word, isNotTokenRune):
		h.addFault(at, "must be the name of a header: letters, digits and !#$%&'*+-.^_`|~")
	case h.usedNames[name]:
		h.addFault(at, "names a header that another property has")
	default:
		h.usedNames[name] = true
		h.found = append(h.found, Header{name, path})
	}
}

// isNotTokenRune reports whether a character cannot be in a token (RFC 9110 section
// 5.6.2).
func isNotTokenRune(c rune) bool {
	return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}
