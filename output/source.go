package output

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// unknown is the source of output whose arguments name none.
const unknown = "unknown"

// Source names where the output of a tool came from, judging by its
// arguments: "file:" and the path, the URL, "cmd:" and the command, "query:"
// and the query, in this order of preference, else "unknown". The arguments
// are a decoded object, map[string]any, or its JSON text as
// json.RawMessage; anything else is "unknown". A command given as a list is
// joined by spaces. The name of the tool plays no part: the arguments say it
// all.
func Source(_ string, args any) string {
	object, ok := args.(map[string]any)
	if raw, isText := args.(json.RawMessage); isText {
		ok = json.Unmarshal(raw, &object) == nil
	}
	if !ok {
		return unknown
	}
	for _, s := range [...]struct{ key, prefix string }{
		{"path", "file:"},
		{"url", ""},
		{"command", "cmd:"},
		{"query", "query:"},
	} {
		v := joinWords(object[s.key])
		if s.key == "path" && v != "" {
			return s.prefix + openedPath(v)
		}
		if v != "" {
			return s.prefix + v
		}
	}
	return unknown
}

// openedPath returns the path that is opened for one as it was given. One
// with a control character is refused, and names nothing.
func openedPath(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return unknown
	}
	if slices.Contains(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == filepath.Separator }), "..") {
		return filepath.Clean(path)
	}
	return path
}

// joinWords returns a string, or the strings of a list joined by spaces, else
// "".
func joinWords(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, " ")
	case []any:
		all := make([]string, 0, len(v))
		for _, x := range v {
			if s, ok := x.(string); ok {
				all = append(all, s)
			}
		}
		return strings.Join(all, " ")
	default:
		return ""
	}
}
