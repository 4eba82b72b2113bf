package schema

import (
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// suggestName returns " did you mean" for a key that is nearly a declared one.
func suggestName(n *node, key string) string {
	if n == nil {
		return ""
	}
	if name, ok := n.folded[foldCase(key)]; ok {
		return "; did you mean " + quoteName(name) + "?"
	}
	if len(key) > maxQuoted {
		return ""
	}
	best, name := 3, ""
	for _, candidate := range n.folded {
		if max(len(candidate)-len(key), len(key)-len(candidate)) > best {
			continue
		}
		d := text.EditDistance(strings.ToLower(key), strings.ToLower(candidate))
		if d < best && d*3 <= len(candidate) || d == best && candidate < name {
			best, name = d, candidate
		}
	}
	if name == "" {
		return ""
	}
	return "; did you mean " + quoteName(name) + "?"
}
