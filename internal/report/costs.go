package report

import (
	"fmt"
	"strconv"

	"github.com/sallyport/sallyport/internal/costs"
)

// PrintCosts prints what calls cost, by day and principal.
func PrintCosts(p *Printer, t *costs.Tally) error {
	rows := t.Rows()
	total, _ := t.Total().Float64()
	if p.JSON {
		return p.PrintJSON(map[string]any{"rows": append([]costs.Row{}, rows...), "cost_usd": total})
	}
	if len(rows) == 0 {
		p.PrintLine("no call cost anything")
		return nil
	}
	table := [][]string{{"DAY", "PRINCIPAL", "CALLS", "USD"}}
	if t.Sessions {
		table[0] = []string{"DAY", "PRINCIPAL", "SESSION", "CALLS", "USD"}
	}
	for i := range rows {
		r := &rows[i]
		line := []string{r.Day, EscapeControls(r.Principal), strconv.Itoa(r.Calls), fmt.Sprintf("%.6f", r.USD)}
		if t.Sessions {
			line = append(line[:2:2], EscapeControls(r.Session), line[2], line[3])
		}
		table = append(table, line)
	}
	p.PrintTable(table)
	p.PrintLine("%s USD in all", costs.Text(t.Total()))
	return nil
}
