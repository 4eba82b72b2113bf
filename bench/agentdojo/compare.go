package main

import (
	"strings"
	"unicode"
)

// holds reports whether a set has a member that means the same.
func (k knownSets) holds(set, value string) bool {
	for member := range k[set] {
		if foldPlace(set, member) == foldPlace(set, value) {
			return true
		}
	}
	return false
}

// foldPlace returns a value without what does not count in its kind.
func foldPlace(set, value string) string {
	value = foldText(value)
	switch set {
	case urlSet:
		if _, rest, ok := strings.Cut(value, "://"); ok {
			value = rest
		}
		return strings.TrimRight(strings.TrimPrefix(value, "www."), "/")
	case accountSet:
		return strings.NewReplacer("-", "", ".", "", "/", "").Replace(value)
	default:
		return value
	}
}

// foldText returns a text without case and white space, as far as this program has to
// compare texts.
func foldText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}
