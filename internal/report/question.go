package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/text"
)

// HeldCall is a held call with the question about it, for programs: without the digests
// that a rule would be bound to.
type HeldCall struct {
	sallyport.Approval
	app.Question
}

// AnswerHeld returns a held call in the form for programs.
func AnswerHeld(a *sallyport.Approval, q app.Question) HeldCall {
	answer := HeldCall{*a, q}
	answer.Shape = nil
	return answer
}

// PrintQuestions prints held calls whole, each with the question about it.
func PrintQuestions(p *Printer, list []sallyport.Approval, ask func(a *sallyport.Approval) app.Question, now time.Time) error {
	answers := make([]HeldCall, 0, len(list))
	for i := range list {
		q := ask(&list[i])
		if p.JSON {
			answers = append(answers, AnswerHeld(&list[i], q))
			continue
		}
		printApproval(p, &list[i], now, true)
		PrintQuestion(p, list[i].ID, &q)
	}
	if p.JSON {
		return p.PrintJSON(answers)
	}
	return nil
}

// PrintHeld prints the calls that one answer is for, and with ask the keys that answer.
// Programs get each call for itself.
func PrintHeld(p *Printer, batch []sallyport.Approval, describe func(a *sallyport.Approval) app.Question, now time.Time, ask bool) {
	switch {
	case p.JSON:
		for i := range batch {
			// A reader that has gone ends the command by its own error.
			_ = PrintApproval(p, &batch[i], now)
		}
	case len(batch) == 1:
		q := describe(&batch[0])
		printApproval(p, &batch[0], now, true)
		PrintQuestion(p, batch[0].ID, &q)
	default:
		printBatch(p, batch, now, true)
		yeses := map[string]*app.Yeses{}
		for i := range batch {
			q := describe(&batch[i])
			PrintNews(p, batch[i].ID, &q)
			yeses[batch[i].ID] = q.Approvers
		}
		printBatchApprovers(p, batch, yeses)
	}
	switch {
	case ask && len(batch) > 1:
		p.PrintLine("    run each of these %d once? y/n for all of them and for no other, s leaves them", len(batch))
	case ask:
		p.PrintLine("    run once? y/n, s leaves it, a shows a rule for the session, l what is given for always")
	}
}

// PrintQuestion prints what is new about a held call, and what a yes would allow, each
// with the flags of approvals approve that give it.
func PrintQuestion(p *Printer, id string, q *app.Question) {
	PrintNews(p, "", q)
	PrintApprovers(p, q.Approvers)
	if q.Allows == nil {
		return
	}
	p.PrintLine("    a yes would allow, with approvals approve %s:", id)
	p.PrintLine("        (no flag)  this call: one run, with exactly these arguments, until %s", q.Allows.Once.Until.Local().Format(time.DateTime))
	if r := q.Allows.Session.Rule; r != nil {
		p.PrintLine("        --session  %s in session %+q, with %s: %s, for %s", EscapeControls(r.Tool), r.Session, r.Describe(), text.CountOf(r.Runs, "run"), text.CountOf(q.Allows.Session.Hours, "hour"))
	} else {
		p.PrintLine("        --session  not offered: %s", EscapeControls(q.Allows.Session.NotOffered))
	}
	if q.Allows.Always == nil {
		p.PrintLine("        --always   not offered: %s", EscapeControls(q.Allows.Session.NotOffered))
		return
	}
	for _, line := range describeAlways(q.Allows.Always) {
		p.PrintLine("        --always   %s", EscapeControls(line))
	}
}

// PrintApprovers prints how many people have said yes, and who may decide.
func PrintApprovers(p *Printer, y *app.Yeses) {
	if y == nil {
		return
	}
	for _, line := range y.Lines() {
		p.PrintLine("    yes: %s", EscapeControls(line))
	}
	if y.By == nil {
		return
	}
	line := strings.Join(y.By, ", ")
	if y.EscalatesAt != nil {
		line += fmt.Sprintf("; from %s on also %s", y.EscalatesAt.Local().Format(time.DateTime), strings.Join(y.EscalatesTo, ", "))
	}
	p.PrintLine("    decides: %s", EscapeControls(line))
}

// PrintNews prints what is new about a held call; the id stands before it where several
// are shown.
func PrintNews(p *Printer, id string, q *app.Question) {
	if id != "" {
		id += ": "
	}
	for _, line := range q.News {
		p.PrintLine("    %s %s%s", p.ColourHeld("new:"), id, EscapeControls(line))
	}
}

// describeAlways says on a line each what a yes for always would give.
func describeAlways(always *app.Always) (lines []string) {
	for i := range always.Members {
		m := &always.Members[i]
		line := fmt.Sprintf("known.%s gets %+q", m.Set, m.Value)
		if len(m.UsedBy) > 0 {
			line += ", which then passes " + strings.Join(m.UsedBy, ", ")
		}
		lines = append(lines, line)
	}
	if e := always.Exception; e != nil {
		line := "exactly this call of " + e.Principal + "/" + e.Personality + ", in any session, until it is revoked"
		if app.LiftsSums(e) {
			line += "; it has no limit any more: no sum holds it"
		}
		lines = append(lines, line)
	}
	return lines
}
