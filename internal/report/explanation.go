package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// PrintExplanation prints what a tool gets, what was dropped and why, and the answers
// to questions about it.
func PrintExplanation(p *Printer, x *registry.Explanation, answers []sallyport.Decision) {
	p.PrintLine("%s for personality %s", x.Tool, cmp.Or(x.Personality, "(none)"))
	for _, d := range x.Decisions {
		if !d.Allowed || d.Why != "" {
			PrintDecision(p, d)
		}
	}
	if x.Grant != nil {
		p.PrintLine("")
		printGrant(p, x)
	}
	printFacts(p, x.Facts)
	for _, d := range answers {
		p.PrintLine("")
		PrintDecision(p, d)
	}
}

// printFacts prints the facts that a call adds to its conversation.
func printFacts(p *Printer, f sallyport.Facts) {
	words := map[sallyport.Fact]string{
		sallyport.FactPrivate:   "may bring private data",
		sallyport.FactUntrusted: "may bring untrusted content",
		sallyport.FactOutward:   "may carry data out or write outside the workspace",
	}
	list := f.List()
	if len(list) > 0 {
		p.PrintLine("")
	}
	for _, fact := range list {
		p.PrintLine("fact  %s: %s", fact, words[fact])
	}
}

// printGrant prints what is granted, then what was dropped.
func printGrant(p *Printer, x *registry.Explanation) {
	g := x.Grant
	var rows [][]string
	for i := range group.All() {
		rows = append(rows, groupRows(p, &group.All()[i], g)...)
	}
	for _, d := range g.Dropped {
		row := []string{p.ColourBad("drop"), d.Capability, d.Item, d.Why}
		if d.Source != "" {
			row[3] += " (" + d.Source + ")"
		}
		rows = append(rows, row)
		if d.Fix != "" {
			rows = append(rows, []string{"", "", "", "fix: " + d.Fix})
		}
		if run := p.hintFor(d.Capability, d.Item, d.Source, d.Fix); run != "" {
			rows = append(rows, []string{"", "", "", "run: " + run})
		}
	}
	if len(rows) == 0 {
		p.PrintLine("it touches nothing outside itself")
		return
	}
	p.PrintTable(rows)
}

// groupRows returns the rows of what a grant holds of a group: what it allows,
// how, and what it keeps out.
func groupRows(p *Printer, one *group.Group, g *sallyport.Grant) (rows [][]string) {
	add := func(denied bool, verdict string) {
		for _, r := range one.Reaches {
			if r.Granted == nil || r.Denied != denied {
				continue
			}
			for _, item := range r.Granted(g) {
				rows = append(rows, []string{verdict, r.Name, item})
			}
		}
	}
	add(false, p.ColourGood("grant"))
	for _, note := range one.Notes(g) {
		rows = append(rows, []string{p.ColourGood("grant"), one.Name, note})
	}
	add(true, p.ColourBad("deny"))
	if one.Name == group.Files {
		for _, name := range slices.Sorted(maps.Keys(g.FS.Names)) {
			rows = append(rows, []string{"", "name", name + " -> " + g.FS.Names[name]})
		}
	}
	return rows
}

// hintFor returns the command that allows what was refused; empty where no grant
// does.
func (p *Printer) hintFor(capability, item, source, fix string) string {
	missing := strings.HasPrefix(fix, "add ") || strings.HasPrefix(fix, "declare ")
	if p.Hint == nil || fix == "" || !missing && source != reach.FloorSource {
		return ""
	}
	run := p.Hint(capability, item)
	if !missing && !strings.Contains(run, " --private ") {
		return "" // nothing else of the floor is lifted
	}
	return run
}

// PrintDecision prints the decision of one step.
func PrintDecision(p *Printer, d sallyport.Decision) {
	words := []string{p.FormatMark(d.Allowed), string(d.Step)}
	if d.Resource != "" {
		words = append(words, text.OneLine(d.Resource))
	}
	p.PrintLine("%s", strings.Join(words, " "))
	// Text from a caller must not look like another line of this answer.
	if d.Why != "" {
		p.PrintLine("      why: %s", text.OneLine(d.Why))
	}
	if d.Source != "" {
		p.PrintLine("      at:  %s", d.Source)
	}
	run := p.hintFor(d.Capability, d.Resource, d.Source, d.Fix)
	if d.Fix != "" {
		p.PrintLine("      fix: %s", text.OneLine(d.Fix))
	}
	switch {
	case !d.Allowed && run != "":
		p.PrintLine("      run: %s", run)
	case d.Fix == "" && !d.Allowed && d.Source == reach.FloorSource && !strings.Contains(d.Why, "changed at the same time"):
		p.PrintLine("      no setting lifts this")
	}
}
