package text

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// colours matches the sequences that set the colour of a terminal.
var colours = Pattern(`\x1b\[[0-9;]*m`)

// Table returns rows of cells as lines with aligned columns. The sequences that
// colour a cell take no room.
func Table(rows [][]string) string {
	plain, painted := make([][]string, len(rows)), false
	for i, row := range rows {
		plain[i] = make([]string, len(row))
		for k, cell := range row {
			plain[i][k] = colours().ReplaceAllString(cell, "")
			painted = painted || plain[i][k] != cell
		}
	}
	lines := strings.SplitAfter(alignColumns(plain), "\n")
	if !painted || len(lines) != len(rows)+1 {
		return strings.Join(lines, "")
	}
	for i := range rows {
		lines[i] = paintCells(lines[i], plain[i], rows[i])
	}
	return strings.Join(lines, "")
}

func alignColumns(rows [][]string) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
	return b.String()
}

// paintCells puts the painted cells of a row in the place of the plain ones.
func paintCells(line string, plain, painted []string) string {
	var b strings.Builder
	for k := range plain {
		before, rest, found := strings.Cut(line, plain[k])
		if !found {
			break
		}
		b.WriteString(before + painted[k])
		line = rest
	}
	return b.String() + line
}
