package text_test

import (
	"testing"

	"github.com/sallyport/sallyport/internal/text"
)

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "ab", 2},
		{"same", "same", 0},
		{"tool", "tools", 1},
		{"toosl", "tools", 1},
		{"kitten", "sitting", 3},
		{"abcd", "badc", 2},
	} {
		if got := text.EditDistance(tt.a, tt.b); got != tt.want {
			t.Errorf("EditDistance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := text.EditDistance(tt.b, tt.a); got != tt.want {
			t.Errorf("EditDistance(%q, %q) = %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}
