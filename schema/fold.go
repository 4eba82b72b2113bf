package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// foldCase returns the form that all strings share which are equal under
// strings.EqualFold, the comparison that encoding/json uses for the fields of
// a struct: simple Unicode case folding, under which U+017F is an s and
// U+212A a k.
func foldCase(s string) string {
	return strings.Map(foldRune, s)
}

// foldRune returns the smallest rune of the folding orbit.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// foldCollision reports whether two of the keys, which differ, are equal under
// case folding.
func foldCollision(keys []string) bool {
	if len(keys) > 16 {
		seen := make(map[string]struct{}, len(keys))
		for _, k := range keys {
			seen[foldCase(k)] = struct{}{}
		}
		return len(seen) < len(keys)
	}
	for i, a := range keys {
		for _, b := range keys[:i] {
			// A folded character may take another number of bytes, but never
			// more than three times as many.
			if len(a) <= 3*len(b) && len(b) <= 3*len(a) && strings.EqualFold(a, b) {
				return true
			}
		}
	}
	return false
}
