package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// Explanation is what a tool gets, what was dropped and why.
type Explanation struct {
	registry.Explanation
	// Questions are the answers to questions about it.
	Questions []sallyport.Decision `json:"questions,omitempty"`
	// Sets is what the queries of the sets gave that the ceilings name.
	Sets []app.SetReading `json:"sets,omitempty"`
}

// PrintExplanation prints what a tool gets.
func PrintExplanation(p *Printer, x *Explanation) error {
	if p.JSON {
		return p.PrintJSON(x)
	}
	p.PrintLine("%s for personality %s", x.Tool, cmp.Or(x.Personality, "(none)"))
	for _, d := range x.Decisions {
		if !d.Allowed || d.Why != "" {
			printDecision(p, d)
		}
	}
	if x.Grant != nil {
		p.PrintLine("")
		printGrant(p, &x.Explanation)
	}
	printCeilings(p, x.Arguments)
	printFacts(p, x.Facts)
	for _, d := range x.Questions {
		p.PrintLine("")
		printDecision(p, d)
	}
	for i := range x.Sets {
		printReading(p, &x.Sets[i], "known."+x.Sets[i].Set+"  ")
	}
	return nil
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
	if x.FilesStand {
		rows = append(rows, []string{"", "fs_reach", "as declared: the personality lists this and has no list for files"})
	}
	for _, d := range g.Dropped {
		row := []string{p.ColourBad("drop"), d.Capability, d.Item, d.Why}
		if d.Source != "" {
			row[3] += " (" + d.Source + ")"
		}
		rows = append(rows, row)
		for _, line := range p.fixLines(d.Fix) {
			rows = append(rows, []string{"", "", "", line})
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

// fixLines returns the lines that say how to lift a refusal: the command that does,
// and the edit in its place.
func (p *Printer) fixLines(fix string) (lines []string) {
	if p.Trim != nil {
		fix = p.Trim(fix)
	}
	if command, edit, both := strings.Cut(fix, ", or "); both && namesGrant(command) {
		return []string{"run: " + command, "fix: " + text.OneLine(edit)}
	}
	if fix != "" {
		lines = []string{"fix: " + text.OneLine(fix)}
	}
	return lines
}

// namesGrant reports whether a fix begins with the command grant of a program.
func namesGrant(fix string) bool {
	words := strings.Fields(fix)
	return len(words) > 2 && words[1] == "grant"
}

// PrintFix prints how to lift a refusal, each line behind an indent.
func (p *Printer) PrintFix(indent, fix string) {
	for _, line := range p.fixLines(fix) {
		p.PrintLine("%s%s", indent, line)
	}
}

// printDecision prints the decision of one step.
func printDecision(p *Printer, d sallyport.Decision) {
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
	p.PrintFix("      ", d.Fix)
	if reach.IsFinal(&d) {
		p.PrintLine("      no setting lifts this")
	}
}
