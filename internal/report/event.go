package report

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
)

// printOutcome prints how a call ended.
func printOutcome(p *Printer, last *audit.Event) {
	if last.Kind == audit.KindIntent {
		p.PrintLine("outcome unknown: the call still runs, or its process died before it could be recorded")
		return
	}
	p.PrintLine("outcome: %s", OutcomeWord(p, last))
	if !last.OK {
		p.PrintLine("         %s: %s", last.Code, text.OneLine(string(last.Error)))
	}
	explainDecisions(p, last)
}

// explainDecisions prints what was refused and what the call used.
func explainDecisions(p *Printer, e *audit.Event) {
	var used, changed, decided []string
	refusals, children := 0, false
	for _, d := range e.Decisions {
		switch {
		case !d.Allowed:
			refusals++
			printDecision(p, d)
		case d.Source == reach.UnattributedSource:
			changed = append(changed, text.OneLine(describeAccess(d)))
		case d.Step == sallyport.StepApprove && d.Why != "":
			decided = append(decided, text.OneLine(d.Why))
		case d.Step == sallyport.StepAccess:
			used = append(used, text.OneLine(describeAccess(d)))
			children = children || d.Capability == "process"
		}
	}
	if refusals == 0 {
		p.PrintLine("no step refused")
	}
	if children {
		p.PrintLine("children: confined at the level %s", e.Level)
	}
	printLines(p, "decided:", decided)
	printLines(p, "used:", used)
	printLines(p, "changed at the same time:", changed)
}

// printLines prints lines under a heading. It prints nothing when there are no
// lines.
func printLines(p *Printer, heading string, lines []string) {
	if len(lines) > 0 {
		p.PrintLine("%s", p.ColourHeading(heading))
	}
	for _, line := range lines {
		p.PrintLine("  %s", line)
	}
}

// describeAccess describes one thing that a call used: its kind, its name and the kind
// of access.
func describeAccess(d sallyport.Decision) string {
	return strings.TrimSpace(d.Capability + " " + d.Resource + ": " + d.Why)
}

// PrintEvent prints one record on one line.
func PrintEvent(p *Printer, e *audit.Event) error {
	return p.PrintAnswer(e,
		"%6d %s %-8s %s %s", e.Seq, e.Time.Local().Format("2006-01-02 15:04:05.000"), OutcomeWord(p, e), e.CallID, text.OneLine(describeEvent(e)))
}

// OutcomeWord returns one word for the outcome of a call.
func OutcomeWord(p *Printer, e *audit.Event) string {
	switch {
	case e.Kind == audit.KindIntent:
		return p.ColourDim("intent")
	case e.Kind == audit.KindChange && e.Error != "":
		return p.ColourBad("refused")
	case e.Kind == audit.KindChange:
		return p.ColourBad("change")
	case e.DryRun:
		return p.ColourDim("dry-run")
	case e.OK && e.Cached:
		return p.ColourGood("cached")
	case e.OK:
		return p.ColourGood("ok")
	case e.Denied():
		return p.ColourBad("denied")
	default:
		return p.ColourBad("failed")
	}
}

func describeEvent(e *audit.Event) string {
	if e.Change != nil {
		return describeChange(e)
	}
	line := fmt.Sprintf("%s %s/%s", e.Tool, e.Principal, e.Personality)
	if e.DelegatedBy != "" {
		line += " for " + e.DelegatedBy
	}
	if e.Args != "" && e.Kind != audit.KindIntent {
		line += " " + text.Clip(string(e.Args), 100)
	}
	if e.Kind == audit.KindOutcome && !e.OK {
		line += fmt.Sprintf(" -> %s: %s", e.Code, text.Clip(text.OneLine(string(e.Error)), 160))
	}
	return line
}

// describeChange describes a change on one line.
func describeChange(e *audit.Event) string {
	c := e.Change
	line := fmt.Sprintf("%s %s by %s", c.Action, c.Target, e.Principal)
	if c.User != "" {
		line += " (user " + c.User + ")"
	}
	if c.Detail != "" {
		line += ": " + string(c.Detail)
	}
	if e.Error != "" {
		line += " -> not done: " + text.Clip(string(e.Error), 160)
	}
	// A reason or a session name is text from another party.
	return EscapeControls(line)
}
