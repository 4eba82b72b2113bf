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

// A look is sure only of what the search would find to be so.
func FuzzGlance(f *testing.F) {
	for _, value := range []string{
		"", "x", "See you there", "ann@site.example", "a b. c: d", "it ends. and goes on...x", "1234 5678", "12:30 to 13:00", "a\x00b\x7fc", "é", "::", "a.b/c", "x@",
		strings.Repeat("what was read here ", 9), strings.Repeat("z", maxGlance), strings.Repeat("z", maxGlance+1), "The whole of it. Or: nothing.", "go to x.io; now",
	} {
		f.Add(value, "before "+value+" after")
		f.Add("We say that "+value, value)
		f.Add(value, "other words")
		f.Add(value, "")
	}
	f.Fuzz(func(t *testing.T, value, text string) {
		m := new(Memory)
		m.Add(Source{}, text)
		s := search{Memory: m}
		lacksText, lacksPlaces := s.glanceAt(value)
		whole := Fold(value)
		if lacksText && (len(whole) >= minValue && m.index.Contains(whole) || s.findRun(whole)) {
			t.Errorf("a look misses the text of %q in %q", value, text)
		}
		if lacksPlaces {
			visitEntities(plainText(value), func(e entity) bool {
				t.Errorf("a look misses that %q names %+v", value, e)
				return true
			})
		}
	})
}
