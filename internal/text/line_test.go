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

// TestCommandLinesCanBePasted quotes every word, and none of an empty list.
func TestCommandLinesCanBePasted(t *testing.T) {
	for got, want := range map[string]string{
		text.ShellLine([]string{"sh", "-c", "a b"}):          "sh -c 'a b'",
		text.ShellLine(nil):                                  "",
		text.RepeatFlag("config", []string{"a.yaml", "b c"}): " --config a.yaml --config 'b c'",
		text.RepeatFlag("config", nil):                       "",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestSmallTexts holds the functions that finish a sentence or a line.
func TestSmallTexts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{text.CutLineEnd("a\n"), "a"},
		{text.CutLineEnd("a\r\n"), "a"},
		{text.CutLineEnd("a\n\n"), "a\n"},
		{text.CutLineEnd("a\r"), "a\r"},
		{text.ReasonSuffix(""), ""},
		{text.ReasonSuffix("too late"), ": too late"},
		{text.CountOf(1, "file"), "1 file"},
		{text.CountOf(0, "file"), "0 files"},
		{text.CountForms(2, "match", "matches"), "2 matches"},
		{text.JoinLines([]int{1, 2}, func(n int) string { return text.CountOf(n, "file") }), "1 file\n2 files"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	for s, want := range map[string]bool{"": true, "a~": true, "a\u0080": false, "a\xff": false} {
		if text.IsASCII(s) != want {
			t.Errorf("IsASCII(%q) = %v, want %v", s, !want, want)
		}
	}
}
