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
