package ceiling

import (
	"strings"
)

// escapePointer writes a name as a segment of a JSON pointer.
func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
