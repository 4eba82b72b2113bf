package tomledit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/jsonc"
)

// Format returns a table below a parent with a header, one line for each member.
// The members are those of a JSON object; command comes first.
func Format(parent, name string, members *jsonc.Value, newline string) string {
	lines := []string{"[" + FormatKey(parent, name) + "]"}
	for _, m := range orderMembers(members) {
		lines = append(lines, FormatKey(m.Name)+" = "+formatValue(m.Value))
	}
	return strings.Join(lines, newline) + newline
}

// orderMembers lists members as people write them. A null has no place in TOML.
func orderMembers(object *jsonc.Value) []jsonc.Member {
	list := slices.DeleteFunc(slices.Clone(object.Members), func(m jsonc.Member) bool { return m.Value.Kind == jsonc.Null })
	slices.SortStableFunc(list, func(a, b jsonc.Member) int {
		switch {
		case a.Name == b.Name:
			return 0
		case a.Name == "command":
			return -1
		case b.Name == "command":
			return 1
		default:
			return 0
		}
	})
	return list
}

// isBare reports whether a part of a key needs no quotes.
func isBare(part string) bool {
	return part != "" && strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// FormatKey returns a key with dots between its parts.
func FormatKey(parts ...string) string {
	out := make([]string, len(parts))
	for i, part := range parts {
		if out[i] = part; !isBare(part) {
			out[i] = quoteText(part)
		}
	}
	return strings.Join(out, ".")
}

// formatValue returns a value on one line.
func formatValue(v *jsonc.Value) string {
	var parts []string
	switch v.Kind {
	case jsonc.String:
		return quoteText(v.Text)
	case jsonc.Array:
		for _, item := range v.Items {
			parts = append(parts, formatValue(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case jsonc.Object:
		for _, m := range orderMembers(v) {
			parts = append(parts, FormatKey(m.Name)+" = "+formatValue(m.Value))
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	default:
		return v.Text
	}
}

// quoteText returns a basic string.
func quoteText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff':
			b.WriteString(`\u` + fmt.Sprintf("%04x", r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
