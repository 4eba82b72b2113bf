package report

import (
	"bytes"
	"strings"
	"testing"
)

func TestShowsColour(t *testing.T) {
	for _, tt := range []struct {
		terminal bool
		env      map[string]string
		want     bool
	}{
		{true, nil, true},
		{false, nil, false},
		{true, map[string]string{"TERM": "xterm"}, true},
		{true, map[string]string{"TERM": "dumb"}, false},
		{true, map[string]string{"NO_COLOR": "1"}, false},
	} {
		lookup := func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }
		if got := ShowsColour(tt.terminal, lookup); got != tt.want {
			t.Errorf("ShowsColour(%v, %v) = %v, want %v", tt.terminal, tt.env, got, tt.want)
		}
	}
}

// TestColoursMarkHeadingsVerdictsAndErrors, and no colour is written without Colour.
func TestColoursMarkHeadingsVerdictsAndErrors(t *testing.T) {
	print := func(colour bool) string {
		var b bytes.Buffer
		p := &Printer{W: &b, Colour: colour}
		p.PrintTable([][]string{{"TOOL", "", "WHY"}, {"a", p.FormatMark(true), "x"}, {"b", p.FormatMark(false), p.ColourHeld("held")}})
		p.PrintTable([][]string{{"enforced", "x"}})
		p.PrintError("no", 2)
		return b.String()
	}
	if got := print(false); strings.Contains(got, "\x1b") {
		t.Errorf("without Colour the text is %q", got)
	}
	got := print(true)
	for _, want := range []string{"\x1b[1mTOOL\x1b[0m", "\x1b[1mWHY\x1b[0m", "\x1b[32mallow\x1b[0m", "\x1b[31mdeny\x1b[0m", "\x1b[33mheld\x1b[0m", "\nenforced  x\n\x1b[31msallyport:\x1b[0m no\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("with Colour the text is %q, want %q in it", got, want)
		}
	}
}
