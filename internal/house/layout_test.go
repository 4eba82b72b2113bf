package house_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const architecturePage = "docs/internals/architecture.md"

// TestLayoutHasEveryPackage reads the table of places of the architecture. Each
// package needs a row, its own or that of a folder above it, and each row a
// package.
func TestLayoutHasEveryPackage(t *testing.T) {
	_, table, _ := strings.Cut(page(t, architecturePage), "\n## Layout\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := map[string]bool{}
	for line := range strings.Lines(table) {
		cell, isRow := strings.CutPrefix(line, "| ")
		if !isRow {
			continue
		}
		cell, _, _ = strings.Cut(cell, " |")
		for _, m := range regexp.MustCompile("`([\\w/-]+?)/?`").FindAllStringSubmatch(cell, -1) {
			rows[m[1]] = false
		}
	}
	for dir := range packages(t) {
		rel, err := filepath.Rel(repository, dir)
		if err != nil {
			t.Fatal(err)
		}
		if rel = filepath.ToSlash(rel); rel != "." && !markRows(rows, rel) {
			t.Errorf("%s: the table of places has no row for %s or a folder above it", architecturePage, rel)
		}
	}
	for row, holds := range rows {
		if !holds {
			t.Errorf("%s: the table of places has a row for %s, which holds no package", architecturePage, row)
		}
	}
}

// markRows marks the rows of a package: its own and those of the folders above
// it. It reports whether there is one.
func markRows(rows map[string]bool, path string) (found bool) {
	for row := range rows {
		if path == row || strings.HasPrefix(path, row+"/") {
			rows[row], found = true, true
		}
	}
	return found
}
