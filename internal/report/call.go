package report

import (
	"cmp"
	"strings"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/text"
)

// PrintCall prints what became of a past call, from its records.
func PrintCall(p *Printer, events []audit.Event) error {
	if p.JSON {
		return p.PrintJSON(events)
	}
	var last *audit.Event
	for i := range events {
		if events[i].Kind != audit.KindChange {
			last = &events[i]
		}
	}
	if last == nil {
		p.PrintLine("%s is a change, not a call: %s", events[0].CallID, text.OneLine(describeChange(&events[0])))
		return nil
	}
	p.PrintLine("call %s: %s by %s as %s at %s", last.CallID, text.OneLine(string(last.Tool)), last.Principal,
		cmp.Or(string(last.Personality), "(none)"), last.Time.Local().Format("2006-01-02 15:04:05"))
	if last.DelegatedBy != "" {
		p.PrintLine("made by a sub-agent, for call %s", strings.ReplaceAll(last.DelegatedBy, "/", ", within that for call "))
	}
	if last.Args != "" {
		p.PrintLine("arguments: %s", text.Clip(string(last.Args), 1000))
	}
	printOutcome(p, last)
	for i := range events {
		if events[i].Kind == audit.KindChange {
			p.PrintLine("decision: %s", text.OneLine(describeChange(&events[i])))
		}
	}
	return nil
}
