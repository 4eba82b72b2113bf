package report

import (
	"fmt"
	"time"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/text"
)

// RuleAnswer is a rule for programs: without the digests that it is bound to, and
// with the one that identifies it.
type RuleAnswer struct {
	approvals.UsedRule
	// SHA256 is the digest of what a person is shown of the rule.
	SHA256 string `json:"sha256"`
}

// AnswerRule returns a rule in the form for programs.
func AnswerRule(r approvals.UsedRule) RuleAnswer {
	digest := r.Digest()
	r.Shape = nil
	return RuleAnswer{r, digest}
}

// PrintProposal prints what a rule would allow, before it is given.
func PrintProposal(p *Printer, r *approvals.Rule) {
	p.PrintLine("%s", p.ColourHeading("rule for this session"))
	printRule(p, r)
	p.PrintLine("    lets: %s run without a question, for %s at most", text.CountOf(r.Runs, "call"), describeHours(approvals.RuleLife))
	p.PrintLine("    ends: with a revocation, a stop, and any change of the tool or of what it may touch")
	p.PrintLine("    digest: %s", r.Digest())
}

// PrintRules prints the rules that count, and what is allowed for always.
func PrintRules(p *Printer, list []approvals.UsedRule, always []app.GivenAlways, now time.Time) error {
	if p.JSON {
		answers := make([]any, 0, len(list)+len(always))
		for i := range list {
			answers = append(answers, AnswerRule(list[i]))
		}
		for i := range always {
			answers = append(answers, answerGiven(&always[i]))
		}
		return p.PrintJSON(answers)
	}
	if len(list)+len(always) == 0 {
		p.PrintLine("nothing is allowed for a session or for always")
	}
	for i := range list {
		r := &list[i]
		p.PrintLine("%s  %s  %s  run %d of %d, expires in %s", r.ID, EscapeControls(r.Tool), EscapeControls(r.Principal+"/"+r.Personality),
			r.Used, r.Runs, max(r.Expires.Sub(now), 0).Truncate(time.Second))
		printRule(p, &r.Rule)
		p.PrintLine("    %s", EscapeControls(fmt.Sprintf("given by %s%s", r.By, text.ReasonSuffix(r.Reason))))
	}
	for i := range always {
		printGiven(p, &always[i], now)
	}
	return nil
}

// printRule prints what a rule is about.
func printRule(p *Printer, r *approvals.Rule) {
	p.PrintLine("    in: session %+q of %s", r.Session, EscapeControls(r.Principal+"/"+r.Personality))
	p.PrintLine("    tool: %s, with %s", EscapeControls(r.Tool), r.Describe())
	p.PrintLine("    seen: %s", EscapeControls(r.Args))
	for _, target := range r.Targets {
		p.PrintLine("    uses: %s", EscapeControls(target))
	}
	if r.Why != "" {
		p.PrintLine("    why: %s", EscapeControls(r.Why))
	}
}

// describeHours writes a span of whole hours.
func describeHours(d time.Duration) string { return text.CountOf(int(d/time.Hour), "hour") }
