package text_test

import (
	"regexp"
	"testing"

	"github.com/sallyport/sallyport/internal/text"
)

// TestTableAlignsColouredCells: without the colours, the lines are those of the
// same table without colours.
func TestTableAlignsColouredCells(t *testing.T) {
	plain := text.Table([][]string{{"NAME", "STATE", "WHY"}, {"a", "ok", ""}, {"longer", "refused", "a"}, {"", "", "last"}})
	painted := text.Table([][]string{
		{"\x1b[1mNAME\x1b[0m", "\x1b[1mSTATE\x1b[0m", "\x1b[1mWHY\x1b[0m"},
		{"a", "\x1b[32mok\x1b[0m", ""},
		{"longer", "\x1b[31mrefused\x1b[0m", "a"},
		{"", "", "last"},
	})
	if got := regexp.MustCompile(`\x1b\[\d*m`).ReplaceAllString(painted, ""); got != plain || got == painted {
		t.Errorf("Table() without its colours =\n%s\nwant\n%s", got, plain)
	}
}
