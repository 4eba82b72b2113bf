package place

import (
	"os"
	"slices"
	"strings"
)

// elements splits a path and drops what does not count.
func elements(p string) []string {
	parts := strings.FieldsFunc(p, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	return slices.DeleteFunc(parts, func(s string) bool { return s == "." })
}
