package subagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Template is the arguments of a tool that works on tasks: JSON in whose texts {name}
// stands for what a task hands over by that name. Brackets that are meant as such are
// written twice. What takes the place of a name is never looked at again.
type Template struct{ node any }

// placedNames lists what a task hands over.
var placedNames = [...]string{"prompt", "credential", "max_calls", "max_cost_usd", "max_seconds", "tools", "arguments"}

// maxPlacedDepth bounds how deep a template is.
const maxPlacedDepth = 32

// ParseTemplate reads a template, an object. The error says where something is wrong.
func ParseTemplate(raw json.RawMessage) (*Template, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil || tree == nil {
		return nil, errors.New("expected an object")
	}
	node, err := parseNode("", tree, maxPlacedDepth)
	if err != nil {
		return nil, err
	}
	return &Template{node}, nil
}

// placedText is a text of a template: texts, and between them names.
type placedText struct{ texts, names []string }

func parseNode(at string, node any, depth int) (_ any, err error) {
	if depth == 0 {
		return nil, fmt.Errorf("%s: is too deep", at)
	}
	switch node := node.(type) {
	case string:
		t, err := parseText(node)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		return t, nil
	case []any:
		for i := range node {
			if node[i], err = parseNode(fmt.Sprint(at, "/", i), node[i], depth-1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range node {
			if node[key], err = parseNode(at+"/"+key, node[key], depth-1); err != nil {
				return nil, err
			}
		}
	}
	return node, nil
}

func parseText(s string) (t placedText, err error) {
	var text strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			i = len(s)
		}
		text.WriteString(s[:i])
		switch s = s[i:]; {
		case s == "":
		case len(s) > 1 && s[1] == s[0]:
			text.WriteByte(s[0])
			s = s[2:]
		default:
			name, rest, closed := strings.Cut(strings.TrimPrefix(s, "{"), "}")
			if s[0] == '}' || !closed || !slices.Contains(placedNames[:], name) {
				return t, fmt.Errorf("expected {name} with one of %s; a bracket that is meant as such is written twice", strings.Join(placedNames[:], ", "))
			}
			t.texts, t.names, s = append(t.texts, text.String()), append(t.names, name), rest
			text.Reset()
		}
	}
	t.texts = append(t.texts, text.String())
	if name, alone := t.loneName(); name == "" || alone {
		return t, nil
	}
	if slices.ContainsFunc(t.names, func(name string) bool { return name == "tools" || name == "arguments" }) {
		return t, errors.New("{tools} and {arguments} are no texts: each stands alone")
	}
	return t, nil
}

// loneName returns the first name of a text, and whether the text is nothing else.
func (t *placedText) loneName() (name string, alone bool) {
	if len(t.names) == 0 {
		return "", false
	}
	return t.names[0], len(t.names) == 1 && t.texts[0] == "" && t.texts[1] == ""
}

// Has reports whether a name stands in the template.
func (t *Template) Has(name string) bool { return hasName(t.node, name) }

func hasName(node any, name string) bool {
	switch node := node.(type) {
	case placedText:
		return slices.Contains(node.names, name)
	case []any:
		return slices.ContainsFunc(node, func(child any) bool { return hasName(child, name) })
	case map[string]any:
		for _, child := range node {
			if hasName(child, name) {
				return true
			}
		}
	}
	return false
}

// Fill returns the arguments with what a task hands over, which is an object of these
// names. A text that is one name alone becomes its value; a member or an item of which a
// name is absent is left out.
func (t *Template) Fill(task json.RawMessage) (json.RawMessage, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(task, &values); err != nil {
		return nil, err
	}
	tree, _ := fillNode(t.node, values)
	return json.Marshal(tree)
}

// fillNode returns a part of the arguments; ok is false when it is left out.
func fillNode(node any, values map[string]json.RawMessage) (filled any, ok bool) {
	switch node := node.(type) {
	case placedText:
		return node.fillText(values)
	case []any:
		list := make([]any, 0, len(node))
		for _, child := range node {
			if value, ok := fillNode(child, values); ok {
				list = append(list, value)
			}
		}
		return list, true
	case map[string]any:
		object := make(map[string]any, len(node))
		for key, child := range node {
			if value, ok := fillNode(child, values); ok {
				object[key] = value
			}
		}
		return object, true
	}
	return node, true
}

func (t *placedText) fillText(values map[string]json.RawMessage) (filled any, ok bool) {
	if name, alone := t.loneName(); alone {
		value, ok := values[name]
		return value, ok
	}
	var b strings.Builder
	for i, text := range t.texts {
		b.WriteString(text)
		if i == len(t.names) {
			break
		}
		value, ok := values[t.names[i]]
		if !ok {
			return nil, false
		}
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value) // a number
		}
		b.WriteString(s)
	}
	return b.String(), true
}
