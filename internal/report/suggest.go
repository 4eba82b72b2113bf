package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/text"
)

// PrintSuggestion prints a role as YAML, and in comments how it was proved, and what it
// leaves out.
func PrintSuggestion(p *Printer, s *app.Suggestion) error {
	if p.JSON {
		return p.PrintJSON(s)
	}
	p.PrintLine("# The least role that would have allowed what was allowed, proved by replay:")
	p.PrintLine("# %s of %s: %d allowed, and still allowed or held as today; %d refused; %d not replayable",
		text.CountOf(s.Calls, "call"), s.Role, s.Proved, s.Refused, s.Unknown)
	fmt.Fprint(p.W, s.YAML)
	for _, why := range slices.Sorted(maps.Keys(s.Reasons)) {
		printComment(p, fmt.Sprintf("not replayable: %s: %s", text.CountOf(s.Reasons[why], "call"), why))
	}
	for i := range s.LeftOut {
		printComment(p, "left out: "+s.LeftOut[i].Part+": "+s.LeftOut[i].Why)
	}
	for _, a := range s.Always {
		printComment(p, "for always: "+a.About)
		for line := range strings.Lines(a.YAML) {
			p.PrintLine("#   %s", strings.TrimSuffix(line, "\n"))
		}
	}
	return nil
}

// printComment prints a comment, which stays on its line.
func printComment(p *Printer, said string) {
	p.PrintLine("# %s", EscapeControls(text.PrintableLine(said)))
}
