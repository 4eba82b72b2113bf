package report

import (
	"strings"

	"github.com/sallyport/sallyport/internal/app"
)

// PrintVersionChanges prints what version 2 of the configuration's format would change.
func PrintVersionChanges(p *Printer, changes []app.VersionChange) {
	for _, c := range changes {
		p.PrintLine("version: 2 would change %s for personality %s", c.Name, c.Personality)
		for _, line := range []struct {
			word  string
			items []string
		}{{"gets", c.Gained}, {"loses", c.Lost}} {
			if len(line.items) > 0 {
				p.PrintLine("       %s %s", line.word, strings.Join(line.items, ", "))
			}
		}
		if c.Source != "" {
			p.PrintLine("       at %s", c.Source)
		}
	}
}
