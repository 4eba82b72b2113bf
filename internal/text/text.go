// Package text shortens, quotes and compares texts for messages, terminals and
// results. It never cuts inside a character.
package text

import "unicode/utf8"

// ellipsis stands for what was left out.
const ellipsis = "…"

// Clip returns s, or its first n code points and an ellipsis.
func Clip(s string, n int) string {
	if short := FirstChars(s, n); len(short) < len(s) {
		return short + ellipsis
	}
	return s
}

// ClipBytes returns s, or its first characters in at most n bytes and an
// ellipsis.
func ClipBytes(s string, n int) string {
	if short := FirstBytes(s, n); len(short) < len(s) {
		return short + ellipsis
	}
	return s
}

// ClipMiddle returns s, or its first and last n code points and an ellipsis
// between them.
func ClipMiddle(s string, n int) string {
	most := utf8.RuneCountInString(s)
	if most <= 2*n {
		return s
	}
	return FirstChars(s, n) + ellipsis + s[len(FirstChars(s, most-n)):]
}

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
