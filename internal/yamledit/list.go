package yamledit

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// ErrAbsent is the error for an item that a list does not hold.
var ErrAbsent = errors.New("is not there")

// AddItem adds a text to the end of a list, in a YAML or JSON text of any style.
// The path names keys, and items of lists by their number. Keys that are not there
// are added with the list. Every byte of the text stays. The error matches
// [ErrStyle] where that cannot be done.
func AddItem(text string, path []string, item string) (string, error) {
	t, err := readTree(text)
	if err != nil {
		return "", err
	}
	at, rest := t.root, path
	key := yamldoc.Field{}
	for len(rest) > 0 && at != nil {
		below, field := childOf(at, rest[0])
		if below == nil {
			break
		}
		at, key, rest = below, field, rest[1:]
	}
	want := addedValue(valueOf(at), rest, item)
	var out string
	switch {
	case at.Kind == yamldoc.KindNull:
		out, err = t.fillNothing(key, rest, item)
	case len(rest) == 0 && at.Kind == yamldoc.KindList:
		out, err = t.appendItem(at, item)
	case len(rest) > 0 && at.Kind == yamldoc.KindMapping:
		out, err = t.appendKey(at, rest, item)
	default:
		err = ErrStyle
	}
	return checkEdit(t, out, path[:len(path)-len(rest)], want, err)
}

// RemoveItem takes the item with a number off a list, in a YAML or JSON text of any
// style. A list that becomes empty stays. Every other byte of the text stays. The
// error matches [ErrAbsent] or [ErrStyle].
func RemoveItem(text string, path []string, index int) (string, error) {
	t, err := readTree(text)
	if err != nil {
		return "", err
	}
	at, key := t.root, yamldoc.Field{}
	for _, name := range path {
		if at, key = childOf(at, name); at == nil {
			return "", fmt.Errorf("%s %w", strings.Join(path, "."), ErrAbsent)
		}
	}
	if at.Kind != yamldoc.KindList || index < 0 || index >= len(at.Items) {
		return "", fmt.Errorf("%s: item %d %w", strings.Join(path, "."), index+1, ErrAbsent)
	}
	want := slices.Delete(slices.Clone(valueOf(at).([]any)), index, index+1)
	var out string
	if t.isFlow(at) {
		out, err = t.removeFlowItem(at, index)
	} else {
		out, err = t.removeLine(at, key, index)
	}
	return checkEdit(t, out, path, want, err)
}

// checkEdit reads a text after an edit. Anything but the wanted value at the path is
// an edit that went wrong.
func checkEdit(t *tree, out string, path []string, want any, err error) (string, error) {
	fault := fmt.Errorf("%s %w", strings.Join(path, "."), ErrStyle)
	if err != nil {
		return "", fault
	}
	after, err := readTree(out)
	if err != nil || !reflect.DeepEqual(valueOf(after.root), replaceValue(valueOf(t.root), path, want)) {
		return "", fault
	}
	return out, nil
}

// childOf returns what a key or a number names, nil for nothing.
func childOf(n *yamldoc.Value, name string) (*yamldoc.Value, yamldoc.Field) {
	if n.Kind == yamldoc.KindMapping {
		for _, f := range n.Fields {
			if f.Name == name {
				return f.Value, f
			}
		}
		return nil, yamldoc.Field{}
	}
	if i, err := strconv.Atoi(name); n.Kind == yamldoc.KindList && err == nil && i >= 0 && i < len(n.Items) {
		return n.Items[i], yamldoc.Field{}
	}
	return nil, yamldoc.Field{}
}

// scalar is a value that is neither a list nor a mapping.
type scalar struct {
	kind yamldoc.Kind
	text string
}

// valueOf returns a value without its places.
func valueOf(n *yamldoc.Value) any {
	switch n.Kind {
	case yamldoc.KindList:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = valueOf(item)
		}
		return list
	case yamldoc.KindMapping:
		fields := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			fields[f.Name] = valueOf(f.Value)
		}
		return fields
	default:
		return scalar{n.Kind, n.Text}
	}
}

// addedValue returns a value with an item added below a path.
func addedValue(v any, rest []string, item string) any {
	if len(rest) > 0 {
		fields := map[string]any{}
		if old, ok := v.(map[string]any); ok {
			for name, value := range old {
				fields[name] = value
			}
		}
		fields[rest[0]] = addedValue(nil, rest[1:], item)
		return fields
	}
	list, _ := v.([]any)
	return append(slices.Clone(list), scalar{yamldoc.KindText, item})
}

// replaceValue returns a value in which another one stands at a path.
func replaceValue(v any, path []string, with any) any {
	if len(path) == 0 {
		return with
	}
	switch v := v.(type) {
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, value := range v {
			fields[name] = value
		}
		fields[path[0]] = replaceValue(fields[path[0]], path[1:], with)
		return fields
	case []any:
		list := slices.Clone(v)
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(list) {
			list[i] = replaceValue(list[i], path[1:], with)
		}
		return list
	default:
		return v
	}
}

// quoteScalar returns a text in double quotes, which YAML and JSON read alike.
func quoteScalar(s string) string {
	text, _ := json.Marshal(s) // a text always has a JSON form
	return string(text)
}
