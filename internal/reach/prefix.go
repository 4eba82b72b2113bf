package reach

import (
	"errors"
	"slices"
	"strings"
)

const (
	// maxPrefixes bounds the prefixes of one secret, maxPrefix their length.
	maxPrefixes = 8
	maxPrefix   = 64
	// prefixBytes is what a prefix has beside letters and digits: no character
	// that begins an escape, a reference, a quotation or a list.
	prefixBytes = " -._~:=/@"
)

var errPrefix = errors.New(`expected at most 8 prefixes, each of 1 to 64 letters, digits and " -._~:=/@"`)

// CheckPrefixes judges what is declared as texts that may stand in front of a
// secret in requests: at most 8, each of 1 to 64 letters, digits and
// " -._~:=/@".
func CheckPrefixes(list []string) error {
	if len(list) > maxPrefixes || slices.ContainsFunc(list, func(p string) bool { return !isPrefix(p) }) {
		return errPrefix
	}
	return nil
}

func isPrefix(s string) bool {
	for i := 0; i < len(s); i++ {
		letter, digit := s[i]|0x20-'a' < 26, s[i]-'0' < 10
		if !letter && !digit && strings.IndexByte(prefixBytes, s[i]) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= maxPrefix
}
