package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/text"
)

func TestFirst(t *testing.T) {
	for _, tt := range []struct {
		s            string
		n            int
		chars, bytes string
	}{
		{"", 0, "", ""},
		{"abc", 2, "ab", "ab"},
		{"abc", 3, "abc", "abc"},
		{"éé", 1, "é", ""},
		{"éé", 3, "éé", "é"},
		{"aé", 2, "aé", "a"},
		{"\xff\xff", 1, "\xff", "\xff"},
	} {
		if got := text.FirstChars(tt.s, tt.n); got != tt.chars {
			t.Errorf("FirstChars(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.chars)
		}
		if got := text.FirstBytes(tt.s, tt.n); got != tt.bytes {
			t.Errorf("FirstBytes(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.bytes)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		s                   string
		n                   int
		chars, bytes, inner string
	}{
		{"", 0, "", "", ""},
		{"abc", 3, "abc", "abc", "abc"},
		{"abcd", 3, "abc…", "abc…", "abcd"},
		{"ééé", 1, "é…", "…", "é…é"},
		{"éé", 2, "éé", "é…", "éé"},
		{"éabé", 1, "é…", "…", "é…é"},
	} {
		if got := text.Clip(tt.s, tt.n); got != tt.chars {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.chars)
		}
		if got := text.ClipBytes(tt.s, tt.n); got != tt.bytes {
			t.Errorf("ClipBytes(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.bytes)
		}
		if got := text.ClipMiddle(tt.s, tt.n); got != tt.inner {
			t.Errorf("ClipMiddle(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.inner)
		}
	}
}

func FuzzFirst(f *testing.F) {
	f.Add("aéz", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 {
			return
		}
		chars, bytes := text.FirstChars(s, n), text.FirstBytes(s, n)
		if !strings.HasPrefix(s, chars) || utf8.RuneCountInString(chars) > n {
			t.Errorf("FirstChars(%q, %d) = %q", s, n, chars)
		}
		if !strings.HasPrefix(s, bytes) || len(bytes) > n || utf8.ValidString(s) && !utf8.ValidString(bytes) {
			t.Errorf("FirstBytes(%q, %d) = %q", s, n, bytes)
		}
	})
}
