package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// listedArgs bounds the arguments in a list, in characters. A call that the
// user names is shown whole.
const listedArgs = 1000

// PrintApprovals prints one block for each held call.
func PrintApprovals(p *Printer, list []sallyport.Approval, now time.Time) error {
	if p.JSON {
		answers := append([]sallyport.Approval{}, list...)
		for i := range answers {
			answers[i].Shape = nil
		}
		return p.PrintJSON(answers)
	}
	if len(list) == 0 {
		p.PrintLine("no call is held")
	}
	for i := range list {
		printApproval(p, &list[i], now, false)
	}
	return nil
}

// PrintApproval prints one held call with all of its arguments. Programs get it
// without the digests that a rule would be bound to.
func PrintApproval(p *Printer, a *sallyport.Approval, now time.Time) error {
	if !p.JSON {
		printApproval(p, a, now, true)
		return nil
	}
	answer := *a
	answer.Shape = nil
	return p.PrintJSON(&answer)
}

func printApproval(p *Printer, a *sallyport.Approval, now time.Time, whole bool) {
	p.PrintLine("%s  %s  %s  %s  %s", a.ID, formatState(p, a.State), EscapeControls(a.Tool), EscapeControls(a.Principal+"/"+a.Personality), formatAge(a, now))
	args := EscapeControls(a.Args)
	if short := text.Clip(args, listedArgs); !whole && short != args {
		args = fmt.Sprintf("%s [%d characters; 'sallyport approvals ls %s' shows them]", short, utf8.RuneCountInString(args), a.ID)
	}
	p.PrintLine("    %s", args)
	for _, target := range a.Targets {
		p.PrintLine("    uses: %s", EscapeControls(target))
	}
	if a.Why != "" {
		p.PrintLine("    why: %s", EscapeControls(a.Why))
	}
	if a.Hidden > 0 {
		p.PrintLine("    %s", p.ColourBad(fmt.Sprintf("the arguments hold %d control or invisible characters that are not shown", a.Hidden)))
	}
	if a.DecidedBy != "" {
		p.PrintLine("    %s", EscapeControls(strings.TrimSuffix(fmt.Sprintf("decided by %s: %s", a.DecidedBy, a.Reason), ": ")))
	}
	if a.Rule != "" {
		p.PrintLine("    allowed for the session: rule %s", a.Rule)
	}
}

// formatState returns the word for a state, in its colour.
func formatState(p *Printer, s sallyport.ApprovalState) string {
	switch s {
	case sallyport.ApprovalApproved:
		return p.ColourGood(string(s))
	case sallyport.ApprovalDenied:
		return p.ColourBad(string(s))
	case sallyport.ApprovalUsed, sallyport.ApprovalExpired:
		return p.ColourDim(string(s))
	default:
		return p.ColourHeld(string(s))
	}
}

// formatAge returns the age of a held call and the time that is left to decide.
func formatAge(a *sallyport.Approval, now time.Time) string {
	age := max(now.Sub(a.Created), 0).Truncate(time.Second)
	if a.State != sallyport.ApprovalPending && a.State != sallyport.ApprovalApproved {
		return fmt.Sprintf("%s ago", age)
	}
	return fmt.Sprintf("%s ago, expires in %s", age, max(a.Expires.Sub(now), 0).Truncate(time.Second))
}
