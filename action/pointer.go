package action

import (
	"strconv"
	"strings"
)

func formatInt(i int) string { return strconv.Itoa(i) }

// isPointer reports whether a text is a JSON pointer (RFC 6901) to a part.
func isPointer(p string) bool {
	if !strings.HasPrefix(p, "/") {
		return false
	}
	for rest := p; ; {
		_, after, found := strings.Cut(rest, "~")
		if !found {
			return true
		}
		if after == "" || after[0] != '0' && after[0] != '1' {
			return false
		}
		rest = after
	}
}

// findPart returns the part of a value at a JSON pointer.
func findPart(tree any, pointer string) (part any, ok bool) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := tree.(type) {
		case map[string]any:
			if tree, ok = v[token]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) || formatInt(i) != token {
				return nil, false
			}
			tree = v[i]
		default:
			return nil, false
		}
	}
	return tree, true
}
