package command

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

// ruleRequest is what the flags of approve say about a rule for a session.
type ruleRequest struct {
	session bool
	args    []string
	expect  string
}

func (r *ruleRequest) registerFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.session, "session", false, "allow calls of the same shape in the session of the call")
	cmd.Flags().StringSliceVar(&r.args, "args", nil, "with --session: the `ARGUMENTS` that stay the same, separated by commas (default: all)")
	cmd.Flags().StringVar(&r.expect, "expect", "", "with --session: the `HASH` of the rule that was shown; nothing is asked")
}

// check refuses flags that would be ignored.
func (r *ruleRequest) check(cmd *cobra.Command) error {
	for _, name := range []string{"args", "expect"} {
		flag := cmd.Flags().Lookup(name)
		switch {
		case flag == nil || !flag.Changed:
		case !r.session:
			return fmt.Errorf("--%s: only with --session", name)
		case name == "args" && len(r.args) == 0, name == "expect" && r.expect == "":
			return fmt.Errorf("--%s is empty", name)
		}
	}
	return nil
}

// giveRule shows the rule for the session of a held call and gives it after a yes.
func (r *ruleRequest) giveRule(ctx context.Context, env *environment, f *flags, rt *app.Runtime, id string, by approvals.Decider, reason string) error {
	a, err := rt.FindApproval(ctx, id)
	if err != nil {
		return failUnselected(err)
	}
	rule, err := approvals.ProposeRule(&a, r.args)
	if err == nil {
		err = rt.CheckDecision(ctx, &a, by, true, true, reason)
	}
	if err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	p := env.newPrinter(f)
	switch {
	case r.expect != "":
		err = rule.CheckExpected(r.expect)
	case p.JSON:
		return p.PrintJSON(report.AnswerRule(approvals.UsedRule{Rule: *rule}))
	default:
		if err = report.PrintApproval(p, &a, time.Now()); err == nil {
			report.PrintProposal(p, rule)
			err = r.askForRule(env, f, rt, rule)
		}
	}
	if err == nil {
		err = rt.GiveRule(ctx, &a, rule, by, reason)
	}
	if err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	return p.PrintAnswer(map[string]any{"rule": rule.ID, "sha256": rule.Digest(), "given": true},
		"allowed for the session: rule %s; %s ends it", rule.ID, rt.CommandLine("approvals revoke "+rule.ID))
}

// askForRule asks whether the rule that is shown is given.
func (r *ruleRequest) askForRule(env *environment, f *flags, rt *app.Runtime, rule *approvals.Rule) error {
	if env.canAsk(f) {
		if env.ask("allow this for the session?") {
			return nil
		}
		return errors.New("nothing was allowed")
	}
	command := "approvals approve " + rule.ID + " --session"
	if len(r.args) > 0 {
		var list strings.Builder
		w := csv.NewWriter(&list)
		_ = w.Write(r.args) // a builder takes everything
		w.Flush()
		command += " --args " + text.ShellWord(strings.TrimSuffix(list.String(), "\n"))
	}
	return fmt.Errorf("nothing was allowed: there is no terminal to ask at. When you accept what is shown: %s",
		rt.CommandLine(command+" --expect "+rule.Digest()))
}
