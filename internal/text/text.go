// Package text shortens texts for results and messages, and never cuts inside
// a character.
package text

import "unicode/utf8"

// FirstChars returns the first n code points of s.
func FirstChars(s string, n int) string {
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

// FirstBytes returns at most n bytes of s and never half a character.
func FirstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
