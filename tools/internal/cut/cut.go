// Package cut shortens text at a whole character.
package cut

import "unicode/utf8"

// Chars returns the first n code points of s.
func Chars(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Bytes returns at most n bytes of s and never half a character.
func Bytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
