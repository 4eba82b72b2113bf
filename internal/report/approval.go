package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/text"
)

// listedArgs bounds the arguments in a list, in characters. A call that the
// user names is shown whole.
const listedArgs = 1000

// listedCall is a held call in a list, for programs.
type listedCall struct {
	sallyport.Approval
	// Approvers says who may decide and who said yes; nil when no rule says anything.
	Approvers *app.Yeses `json:"approvers,omitempty"`
	// Batch is the id of the first call of those that one question is about; empty
	// when it is about this call alone.
	Batch string `json:"batch,omitempty"`
}

// PrintApprovals prints one block for each question: a held call, or several of one shape.
// Yeses says of calls by their ids who may decide. The function returns a command of an operator in full.
func PrintApprovals(p *Printer, list []sallyport.Approval, yeses map[string]*app.Yeses, now time.Time, commandLine func(command string) string) error {
	batches := approvals.JoinBatches(list)
	if p.JSON {
		return p.PrintJSON(answerBatches(list, batches, yeses))
	}
	if len(list) == 0 {
		p.PrintLine("no call is held")
	}
	for _, batch := range batches {
		if len(batch) == 1 {
			printApproval(p, &batch[0], now, false)
			PrintApprovers(p, yeses[batch[0].ID])
			continue
		}
		printBatch(p, batch, now, false)
		printBatchApprovers(p, batch, yeses)
		p.PrintLine("    one yes for exactly these: %s", commandLine("approvals approve"+joinIDs(batch)))
	}
	return nil
}

// answerBatches returns held calls in their order, each with the question it belongs to.
func answerBatches(list []sallyport.Approval, batches [][]sallyport.Approval, yeses map[string]*app.Yeses) []listedCall {
	first := map[string]string{}
	for _, batch := range batches {
		for i := range batch {
			if len(batch) > 1 {
				first[batch[i].ID] = batch[0].ID
			}
		}
	}
	answers := make([]listedCall, len(list))
	for i := range list {
		answers[i] = listedCall{list[i], yeses[list[i].ID], first[list[i].ID]}
		answers[i].Shape = nil
	}
	return answers
}

// printBatchApprovers prints who may decide about calls of one shape, and who has said yes
// to which of them.
func printBatchApprovers(p *Printer, batch []sallyport.Approval, yeses map[string]*app.Yeses) {
	for i := range batch {
		y := yeses[batch[i].ID]
		if y != nil && len(y.Given) > 0 {
			p.PrintLine("    yes: %s: %s", batch[i].ID, EscapeControls(strings.Join(y.Lines(), "")))
		}
	}
	if y := yeses[batch[0].ID]; y != nil {
		rest := *y
		if rest.Given = nil; len(y.Given) > 0 {
			rest.Needed = 1 // which is said above
		}
		PrintApprovers(p, &rest)
	}
}

func joinIDs(batch []sallyport.Approval) (ids string) {
	for i := range batch {
		ids += " " + batch[i].ID
	}
	return ids
}

// printBatch prints held calls of one shape: what they have in common once, and what is
// each call's own. With whole, no arguments are cut.
func printBatch(p *Printer, batch []sallyport.Approval, now time.Time, whole bool) {
	show := clipArgs
	if whole {
		show = func(args, _ string) string { return EscapeControls(args) }
	}
	a := &batch[0]
	p.PrintLine("%d calls  %s  %s  %s  %s", len(batch), formatState(p, a.State), EscapeControls(a.Tool), EscapeControls(a.Principal+"/"+a.Personality), formatAge(a, now))
	same, own := approvals.SplitArguments(batch)
	if same != "" {
		p.PrintLine("    all: %s", show(same, a.ID))
	}
	for _, target := range a.Targets {
		p.PrintLine("    uses: %s", EscapeControls(target))
	}
	for i := range batch {
		one := &batch[i]
		p.PrintLine("    %s  %s", one.ID, show(own[i], one.ID))
		if one.Why != "" && (i == 0 || one.Why != batch[i-1].Why) {
			p.PrintLine("        why: %s", EscapeControls(one.Why))
		}
		printHidden(p, one.Hidden, "        ")
	}
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

// PrintDecided prints held calls that were decided, after a word for the decision. Of those
// that still wait it prints how many people have said yes. Programs get a list where
// several were asked for.
func PrintDecided(p *Printer, decided []sallyport.Approval, yeses map[string]*app.Yeses, word string, several bool) error {
	if p.JSON {
		answers := answerBatches(decided, nil, yeses)
		if several {
			return p.PrintJSON(answers)
		}
		for i := range answers {
			if err := p.PrintJSON(&answers[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range decided {
		a := &decided[i]
		if a.State == sallyport.ApprovalPending {
			p.PrintLine("your yes counts; another person has to say it, too:")
		} else {
			p.PrintLine("%s:", word)
		}
		printApproval(p, a, time.Now(), true)
		PrintApprovers(p, yeses[a.ID])
	}
	return nil
}

func printApproval(p *Printer, a *sallyport.Approval, now time.Time, whole bool) {
	p.PrintLine("%s  %s  %s  %s  %s", a.ID, formatState(p, a.State), EscapeControls(a.Tool), EscapeControls(a.Principal+"/"+a.Personality), formatAge(a, now))
	args := EscapeControls(a.Args)
	if !whole {
		args = clipArgs(a.Args, a.ID)
	}
	p.PrintLine("    %s", args)
	for _, target := range a.Targets {
		p.PrintLine("    uses: %s", EscapeControls(target))
	}
	if a.Why != "" {
		p.PrintLine("    why: %s", EscapeControls(a.Why))
	}
	printHidden(p, a.Hidden, "    ")
	if a.DecidedBy != "" {
		p.PrintLine("    %s", EscapeControls(strings.TrimSuffix(fmt.Sprintf("decided by %s: %s", a.DecidedBy, a.Reason), ": ")))
	}
	if a.Rule != "" {
		p.PrintLine("    allowed for the session: rule %s", a.Rule)
	}
}

// clipArgs returns arguments as a list shows them.
func clipArgs(args, id string) string {
	args = EscapeControls(args)
	if short := text.Clip(args, listedArgs); short != args {
		return fmt.Sprintf("%s [%d characters; 'sallyport approvals ls %s' shows them]", short, utf8.RuneCountInString(args), id)
	}
	return args
}

func printHidden(p *Printer, n int, before string) {
	if n > 0 {
		p.PrintLine("%s%s", before, p.ColourBad(fmt.Sprintf("the arguments hold %d control or invisible characters that are not shown", n)))
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
