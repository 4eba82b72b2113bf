package house_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const figuresPage = "docs/performance.md"

// figureRows returns the rows of the tables of figures, by their cells. The
// first row of a table and rows that are headings are left out.
func figureRows(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		line, isRow := strings.CutPrefix(strings.TrimSpace(line), "| ")
		if !isRow {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] != "what" && cells[0] != "---" && slices.ContainsFunc(cells[1:], func(c string) bool { return c != "" }) {
			rows = append(rows, cells)
		}
	}
	return rows
}

// TestFiguresNameTheirCommand reads the tables of figures: each row must have a
// figure and, in its last cell, the command that prints it.
func TestFiguresNameTheirCommand(t *testing.T) {
	rows := figureRows(page(t, figuresPage))
	if len(rows) < 50 {
		t.Fatalf("%s has %d figures, want all of them", figuresPage, len(rows))
	}
	command := regexp.MustCompile("^`(?:go test|make) [^`]+`$")
	for _, cells := range rows {
		if last := cells[len(cells)-1]; cells[1] == "" || last != "the same" && !command.MatchString(last) {
			t.Errorf("%s: %q has the figure %q of the command %q, want both", figuresPage, cells[0], cells[1], last)
		}
	}
}

// TestTheDefaultInstallationStandsFirst: the first figure of the page, and of
// each comparison that has the default installation in it, is its own.
func TestTheDefaultInstallationStandsFirst(t *testing.T) {
	_, table, _ := strings.Cut(page(t, figuresPage), "<!-- bench: begin -->")
	table, _, _ = strings.Cut(table, "<!-- bench: end -->")
	rows := figureRows(table)
	if len(rows) == 0 || !strings.Contains(rows[0][0], "**the default `serve`**") {
		t.Fatalf("%s: its first figure is %q, want that of the default installation", figuresPage, rows)
	}
	for i, cells := range rows {
		if strings.Contains(cells[0], "the default `serve") && cells[len(cells)-1] == "the same" && !strings.Contains(rows[i-1][0], "the default `serve") {
			t.Errorf("%s: %q stands behind another", figuresPage, cells[0])
		}
	}
}
