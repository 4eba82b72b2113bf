package text_test

import (
	"testing"

	"github.com/sallyport/sallyport/internal/text"
)

// TestPrintableLineDrivesNoTerminal passes control sequences that a terminal
// would execute.
func TestPrintableLineDrivesNoTerminal(t *testing.T) {
	if got := text.PrintableLine("a\x1b[1m\u009b31mb\u202ec\u2066d\u2028e\nf"); got != "a [1m 31mb c d e f" {
		t.Errorf("PrintableLine = %q", got)
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"a/b.json": "a/b.json", "": "''", "it's here": `'it'\''s here'`, "$(id)": "'$(id)'", "=x": "'=x'",
	} {
		if got := text.ShellWord(word); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", word, got, want)
		}
	}
}

func TestAddCallID(t *testing.T) {
	for _, tt := range []struct{ failure, id, want string }{
		{"Unknown tool: x", "06e2k7m9q4c1", "Unknown tool: x\nCall ID: 06e2k7m9q4c1"},
		{"Unknown tool: x", "", "Unknown tool: x"},
		{"no record (call 06e2k7m9q4c1)", "06e2k7m9q4c1", "no record (call 06e2k7m9q4c1)"},
	} {
		if got := text.AddCallID(tt.failure, tt.id); got != tt.want {
			t.Errorf("AddCallID(%q, %q) = %q, want %q", tt.failure, tt.id, got, tt.want)
		}
	}
}
