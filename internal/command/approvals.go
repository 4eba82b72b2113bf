package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// listedArgs bounds the arguments in a list, in characters. A call that the
	// user names is shown whole.
	listedArgs = 1000
	// shortestID is the number of characters of an id that the user must give.
	// They hold the time to a quarter of a second, so that a short id cannot
	// come to mean a later call.
	shortestID = 8
)

func approvalsCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List held calls and decide about them",
		Long: `List held calls and decide about them. A personality lists tools under
approvals.require. A call of such a tool is held until a person decides. The
decision counts for exactly this call, once. To accept what MCP servers offer,
use lock accept.`,
		Example: `  sallyport approvals ls
  sallyport approvals approve 06e2k7m9q4c1v8w3x5z0a2b4
  sallyport approvals watch
  sallyport approvals deny 06e2k7m9q4c1 --reason "not to this address"`,
		RunE: groupCommand,
	}
	cmd.AddCommand(approvalsList(env, f), approvalsDecide(env, f, true), approvalsDecide(env, f, false), approvalsWatch(env, f))
	return cmd
}

func approvalsList(env *environment, f *flags) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "ls [ID...]",
		Short: "List the calls that wait for a decision or were approved but have not run",
		Long: `List the calls that wait for a decision, and the calls that were approved but
have not run yet. With ids it lists only these calls, with all of their
arguments. It hides secrets, and characters that would control the terminal.`,
		Example: `  sallyport approvals ls
  sallyport approvals ls 06e2k7m9q4c1
  sallyport approvals ls --all --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				list, err := rt.Approvals.List(cmd.Context(), all || len(args) > 0)
				if err != nil {
					return err
				}
				if len(args) > 0 {
					if list, err = selectApprovals(list, args); err != nil {
						return err
					}
				}
				return printApprovals(env.newPrinter(f), list, time.Now(), len(args) > 0)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also list calls that are over")
	return cmd
}

func approvalsDecide(env *environment, f *flags, approve bool) *cobra.Command {
	var reason, as string
	verb, done, short, example := "approve", "approved", "Let a held call run once", "as agreed"
	long := short + `. The decision counts for exactly this tool, these
arguments, this grant and this principal. If the call still waits, it runs at
once. Otherwise it runs when the caller repeats it. The principal who made a
call cannot approve it: --as must name another.`
	if !approve {
		verb, done, short, example = "deny", "denied", "Refuse a held call", "not to this address"
		long = short + `, or take back an approval that was not used yet. Until the
request would have expired, the same call is answered approval_denied. After
that it can be held again.`
	}
	cmd := &cobra.Command{
		Use:     verb + " ID",
		Short:   short,
		Long:    long,
		Example: fmt.Sprintf("  sallyport approvals %s 06e2k7m9q4c1v8w3x5z0a2b4 --reason %q", verb, example),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as == "" || len(as) > app.MaxSessionBytes || as != report.EscapeControls(as) || as != strings.TrimSpace(as) {
				return errors.New("--as: expected a name of at most 256 visible characters, without blanks around it")
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				a, err := decideApproval(cmd.Context(), rt, args[0], as, approve, reason)
				if err != nil {
					return err
				}
				p := env.newPrinter(f)
				if p.JSON {
					return p.PrintJSON(a)
				}
				p.PrintLine("%s:", done)
				return printApprovals(p, []sallyport.Approval{a}, time.Now(), true)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, as `TEXT` for the record; the caller of a denied call sees it")
	cmd.Flags().StringVar(&as, "as", sallyport.LocalPrincipal, "decide as `NAME`")
	return cmd
}

// decideApproval decides about the one held call that an id selects.
func decideApproval(ctx context.Context, rt *app.Runtime, id, by string, approve bool, reason string) (sallyport.Approval, error) {
	var none sallyport.Approval
	list, err := rt.Approvals.List(ctx, true)
	if err != nil {
		return none, err
	}
	found, err := selectApprovals(list, []string{id})
	if err != nil {
		return none, err
	}
	a := &found[0]
	if err := rt.RecordDecision(ctx, a, by, approve, reason); err != nil {
		return none, &exitError{code: exitFailed, err: err}
	}
	decided, err := rt.Approvals.Get(ctx, a.ID)
	if err != nil {
		return none, err
	}
	return decided, nil
}

// selectApprovals returns the held calls with these ids. An id is complete or a unique
// prefix.
func selectApprovals(list []sallyport.Approval, ids []string) ([]sallyport.Approval, error) {
	var out []sallyport.Approval
	for _, id := range ids {
		if len(id) < shortestID {
			return nil, fmt.Errorf("%q: expected an id, or at least %d characters of one", id, shortestID)
		}
		var found []sallyport.Approval
		for _, a := range list {
			if a.ID == id {
				found = []sallyport.Approval{a}
				break
			}
			if strings.HasPrefix(a.ID, id) {
				found = append(found, a)
			}
		}
		switch len(found) {
		case 0:
			return nil, &exitError{code: exitFailed, err: fmt.Errorf("no held call has the id %q: 'sallyport approvals ls' lists them", id)}
		case 1:
			out = append(out, found[0])
		default:
			return nil, &exitError{code: exitFailed, err: fmt.Errorf("%d held calls have ids that begin with %q: give a longer part of the id", len(found), id)}
		}
	}
	return out, nil
}

// printApprovals prints one block for each held call.
func printApprovals(p *report.Printer, list []sallyport.Approval, now time.Time, whole bool) error {
	if p.JSON {
		return p.PrintJSON(append([]sallyport.Approval{}, list...))
	}
	if len(list) == 0 {
		p.PrintLine("no call is held")
	}
	for i := range list {
		a := &list[i]
		p.PrintLine("%s  %s  %s  %s  %s", a.ID, formatState(p, a.State), report.EscapeControls(a.Tool), report.EscapeControls(a.Principal+"/"+a.Personality), formatAge(a, now))
		args := report.EscapeControls(a.Args)
		if short := text.Clip(args, listedArgs); !whole && short != args {
			args = fmt.Sprintf("%s [%d characters; 'sallyport approvals ls %s' shows them]", short, utf8.RuneCountInString(args), a.ID)
		}
		p.PrintLine("    %s", args)
		for _, target := range a.Targets {
			p.PrintLine("    uses: %s", report.EscapeControls(target))
		}
		if a.Why != "" {
			p.PrintLine("    why: %s", report.EscapeControls(a.Why))
		}
		if a.Hidden > 0 {
			p.PrintLine("    %s", p.ColourBad(fmt.Sprintf("the arguments hold %d control or invisible characters that are not shown", a.Hidden)))
		}
		if a.DecidedBy != "" {
			p.PrintLine("    %s", report.EscapeControls(strings.TrimSuffix(fmt.Sprintf("decided by %s: %s", a.DecidedBy, a.Reason), ": ")))
		}
	}
	return nil
}

// formatState returns the word for a state, in its colour.
func formatState(p *report.Printer, s sallyport.ApprovalState) string {
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
