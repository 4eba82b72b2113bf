package house_test

import (
	"regexp"
	"testing"
)

const figuresPage = "docs/performance.md"

// figureRow matches a row of the table of figures, and captures its three cells.
// Rows that are headings have empty cells and do not match.
var figureRow = regexp.MustCompile(`(?m)^\| (.+) \| (.*) \| (.*) \|$`)

// TestFiguresNameTheirCommand reads the table of figures: each row must have a
// figure and the command that prints it.
func TestFiguresNameTheirCommand(t *testing.T) {
	rows := figureRow.FindAllStringSubmatch(page(t, figuresPage), -1)
	if len(rows) < 30 {
		t.Fatalf("%s has %d figures, want all of them", figuresPage, len(rows))
	}
	command := regexp.MustCompile("^`(?:go test|make) [^`]+`$")
	for _, row := range rows[2:] {
		if row[2] == "" || row[3] != "the same" && !command.MatchString(row[3]) {
			t.Errorf("%s: %q has the figure %q of the command %q, want both", figuresPage, row[1], row[2], row[3])
		}
	}
}
