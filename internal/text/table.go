package text

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table returns rows of cells as lines with aligned columns.
func Table(rows [][]string) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
	return b.String()
}
