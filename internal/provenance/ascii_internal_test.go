package provenance

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What is answered of ASCII at once is what the runes would answer.
func TestASCIIIsAnsweredLikeRunes(t *testing.T) {
	t.Parallel()
	check := func(s string) {
		if got, want := foldSpaced(s), foldRunesSpaced(s); got != want {
			t.Errorf("foldSpaced(%q) = %q, want %q", s, got, want)
		}
		if got, want := IsPlain(s), plainText(s) == s && !strings.ContainsFunc(s, isUnseen); got != want {
			t.Errorf("IsPlain(%q) = %v, want %v", s, got, want)
		}
	}
	for a := range utf8.RuneSelf {
		check(string(rune(a)))
		for b := range utf8.RuneSelf {
			for _, end := range []string{"", "x", " ", "  y"} {
				check(string([]byte{byte(a), byte(b)}) + end)
			}
		}
	}
}
