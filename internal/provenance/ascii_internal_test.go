package provenance

import (
	"encoding/base64"
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
		strings.Repeat("what was read here ", 9), strings.Repeat("z", 512), strings.Repeat("z", 513), "The whole of it. Or: nothing.", "go to x.io; now", "a%20b &amp; \\u0040",
	} {
		f.Add(value, "before "+value+" after")
		f.Add("We say that "+value, value)
		f.Add(value, "other words")
		f.Add(value, "")
	}
	f.Fuzz(func(t *testing.T, value, text string) {
		m := new(Memory)
		m.Add(Source{}, text)
		s := search{Reading: &Reading{own: m}, ended: t.Context().Err}
		s.viewMemories()
		lacks := s.glanceAt(value, marksOf(value), true)
		whole := Fold(value)
		if lacks.text && (len(whole) >= minValue && m.index.Contains(whole) || s.findRun(whole)) {
			t.Errorf("a look misses the text of %q in %q", value, text)
		}
		if lacks.places {
			visitEntities(plainText(value), func(e entity) bool {
				t.Errorf("a look misses that %q names %+v", value, e)
				return true
			})
		}
		if decoded := decodeCodes(value); len(decoded) > 0 && (lacks.codes || s.glanceAt(value, marksOf(value), false).codes) {
			t.Errorf("a look misses that %q means %q", value, decoded)
		}
	})
}

// A word is decoded as its code says, however it is looked at first.
func FuzzDecodeWord(f *testing.F) {
	for _, text := range []string{"what was read", "Grüße an alle", "ação é aqui", "日本語のテキスト", "🙂🙂🙂 a b c", "\t\r\n a line", "x\x00y of it all", "\xff\xfe not a text", strings.Repeat("long ", 60)} {
		f.Add([]byte(text), "com/reports/17")
	}
	f.Fuzz(func(t *testing.T, text []byte, word string) {
		for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			code := coding.EncodeToString(text)
			if len(code) < base64Shortest {
				continue
			}
			plain, ok := decodeBase64(code)
			if means := utf8.Valid(text) && isPlainText(text); ok != means || ok && plain != string(text) {
				t.Errorf("decodeBase64(%q) = %q, %v, want %q, %v", code, plain, ok, text, means)
			}
		}
		if len(word) < base64Shortest || lastOutsideBase64(word) >= 0 {
			return
		}
		plain, ok := decodeBase64(word)
		for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if want, err := coding.DecodeString(word); err == nil && utf8.Valid(want) && isPlainText(want) && (!ok || plain != string(want)) {
				t.Errorf("decodeBase64(%q) = %q, %v, want %q", word, plain, ok, want)
			}
		}
	})
}
