package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/report"
)

// alwaysRequest is what the flags of approve say about a yes for always.
type alwaysRequest struct {
	always, yes bool
	span        time.Duration
}

func (r *alwaysRequest) registerFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.always, "always", false, "allow it from now on: the value joins its set, or exactly this call runs")
	cmd.Flags().BoolVar(&r.yes, "yes", false, "with --always: give what is shown without asking")
	cmd.Flags().DurationVar(&r.span, "for", 0, "with --always: how long exactly this call runs, as `DURATION` (default: until it is revoked)")
}

// check refuses flags that would be ignored.
func (r *alwaysRequest) check(cmd *cobra.Command) error {
	for _, name := range []string{"yes", "for"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && !r.always {
			return fmt.Errorf("--%s: only with --always", name)
		}
	}
	switch flag := cmd.Flags().Lookup("session"); {
	case !r.always:
		return nil
	case flag != nil && flag.Changed:
		return errors.New("--always and --session: expected one of them")
	case r.span < 0, r.span == 0 && cmd.Flags().Changed("for"):
		return errors.New("--for: expected a duration such as 720h")
	}
	return nil
}

// give shows what a yes for always would give and gives it after a yes.
func (r *alwaysRequest) give(ctx context.Context, env *environment, f *flags, rt *app.Runtime, id string, by approvals.Decider, reason string) error {
	a, err := rt.FindApproval(ctx, id)
	if err != nil {
		return failUnselected(err)
	}
	if err := rt.CheckDecision(ctx, &a, by, true, true, reason); err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	always, p := rt.ProposeAlways(&a), env.newPrinter(f)
	if r.span > 0 && always.Exception == nil {
		return errors.New("--for: a member of a set has no end; known rm takes it off")
	}
	if p.JSON {
		if !r.yes {
			return p.PrintJSON(report.AlwaysAnswer{Always: always})
		}
	} else {
		if err := report.PrintApproval(p, &a, time.Now()); err != nil {
			return err
		}
		report.PrintAlways(p, always, r.span)
		if err := r.ask(env, f, rt, a.ID); err != nil {
			return &exitError{code: exitFailed, err: err}
		}
	}
	if err := rt.GiveAlways(ctx, &a, always, by, reason, r.span); err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	if p.JSON {
		return p.PrintJSON(report.AlwaysAnswer{Always: always, Given: true})
	}
	p.PrintLine("allowed for always, and approved: %s ends it", rt.CommandLine("approvals revoke "+a.ID))
	return nil
}

// ask asks whether what is shown is given.
func (r *alwaysRequest) ask(env *environment, f *flags, rt *app.Runtime, id string) error {
	switch {
	case r.yes:
		return nil
	case !env.canAsk(f):
		command := "approvals approve " + id + " --always"
		if r.span > 0 {
			command += " --for " + r.span.String()
		}
		return fmt.Errorf("nothing was allowed: there is no terminal to ask at. When you accept what is shown: %s", rt.CommandLine(command+" --yes"))
	case env.ask("allow this for always?"):
		return nil
	default:
		return errors.New("nothing was allowed")
	}
}
