package cut_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport/sallyport/tools/internal/cut"
)

func TestCut(t *testing.T) {
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
		if got := cut.Chars(tt.s, tt.n); got != tt.chars {
			t.Errorf("Chars(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.chars)
		}
		if got := cut.Bytes(tt.s, tt.n); got != tt.bytes {
			t.Errorf("Bytes(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.bytes)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("aéz", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 {
			return
		}
		chars, bytes := cut.Chars(s, n), cut.Bytes(s, n)
		if !strings.HasPrefix(s, chars) || utf8.RuneCountInString(chars) > n {
			t.Errorf("Chars(%q, %d) = %q", s, n, chars)
		}
		if !strings.HasPrefix(s, bytes) || len(bytes) > n || utf8.ValidString(s) && !utf8.ValidString(bytes) {
			t.Errorf("Bytes(%q, %d) = %q", s, n, bytes)
		}
	})
}
