package yamldoc

import (
	"strings"
	"testing"
)

func TestSuggest(t *testing.T) {
	names := []string{"toolset", "fs_reach", "safety", "allow_private_urls", "read", "write", "deny"}
	tests := []struct{ name, word, want string }{
		{"swap", "tolset", "toolset"},
		{"transposed", "raed", "read"},
		{"camel case", "allowPrivateUrls", "allow_private_urls"},
		{"hyphen", "fs-reach", "fs_reach"},
		{"upper case", "SAFETY", "safety"},
		{"exact", "deny", "deny"},
		{"far", "network", ""},
		{"short words need more", "rd", ""},
		{"empty", "", ""},
		{"long", strings.Repeat("x", 100), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Suggest(tt.word, names); got != tt.want {
				t.Errorf("Suggest(%q) = %q, want %q", tt.word, got, tt.want)
			}
		})
	}
}
