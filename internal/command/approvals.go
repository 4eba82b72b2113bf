package command

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/signin"
)

func approvalsCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List held calls and decide about them",
		Long: `List held calls and decide about them. A personality lists tools under
approvals.require. A call of such a tool is held until a person decides. The
decision counts for exactly this call, once, with --session for calls of the same
shape in its session, or with --always from now on. To accept what MCP servers offer, use lock accept.`,
		Example: `  sallyport approvals ls
  sallyport approvals approve 06e2k7m9q4c1v8w3x5z0a2b4
  sallyport approvals watch
  sallyport approvals deny 06e2k7m9q4c1 --reason "not to this address"`,
		RunE: groupCommand,
	}
	cmd.AddCommand(approvalsList(env, f), approvalsDecide(env, f, true), approvalsDecide(env, f, false), approvalsWatch(env, f), approvalsRules(env, f), approvalsRevoke(env, f))
	return cmd
}

func approvalsList(env *environment, f *flags) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "ls [ID...]",
		Short: "List the calls that wait for a decision or were approved but have not run",
		Long: `List the calls that wait for a decision, and the calls that were approved but
have not run yet. Calls of one session that differ in values of their arguments alone
are one question. With ids it lists only these calls, with all of their
arguments, what is new about each, and what a yes would allow. It hides secrets, and characters that would control the terminal.`,
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
					if list, err = approvals.Select(list, args); err != nil {
						return failUnselected(err)
					}
				}
				if len(args) == 0 {
					yeses, err := rt.DescribeYeses(cmd.Context(), list)
					if err != nil {
						return err
					}
					return report.PrintApprovals(env.newPrinter(f), list, yeses, time.Now(), rt.CommandLine)
				}
				ask := func(a *sallyport.Approval) app.Question { return rt.DescribeQuestion(cmd.Context(), a) }
				return report.PrintQuestions(env.newPrinter(f), list, ask, time.Now())
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also list calls that are over")
	return cmd
}

func approvalsDecide(env *environment, f *flags, approve bool) *cobra.Command {
	var reason, as string
	var rule ruleRequest
	var always alwaysRequest
	verb, done, short, example := "approve", "approved", "Let a held call run once", "as agreed"
	long := short + `. The decision counts for exactly this tool, these
arguments, this grant and this principal. If the call still waits, it runs at
once. Otherwise it runs when the caller repeats it. Several ids are answered at once,
each for one run, and no other call is. The principal who made a call cannot approve
it: --as must name another. Where the role says who decides, that must name local,
whatever --as says; where it asks for several people, this is the yes of one, and the
call stays held until the others said it.

With --session it becomes a rule: in the session of the held call, a call of the
same principal, role, tool, definition and grant runs without a question, with the
same arguments or, with --args, with these arguments the same and any value for the
others. A rule counts for 8 hours and 100 calls. It is shown, and you are asked;
without a terminal, give the digest that was shown with --expect.

With --always it counts from now on, in any session. A call that is held only because
a value is in no set adds that value to the set; any other call may run again exactly
as it is. What that allows is shown, and you are asked; without a terminal, repeat
the command with --yes.`
	if !approve {
		verb, done, short, example = "deny", "denied", "Refuse a held call", "not to this address"
		long = short + `, or take back an approval that was not used yet. Until the
request would have expired, the same call is answered approval_denied. After
that it can be held again. Several ids are answered at once.`
	}
	cmd := &cobra.Command{
		Use:     verb + " ID...",
		Short:   short,
		Long:    long,
		Example: fmt.Sprintf("  sallyport approvals %s 06e2k7m9q4c1v8w3x5z0a2b4 --reason %q", verb, example),
		Args:    cobra.RangeArgs(1, approvals.MaxBatch),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && (rule.session || always.always) {
				return errors.New("--session and --always: expected one id")
			}
			if as == "" || len(as) > app.MaxSessionBytes || as != report.EscapeControls(as) || as != strings.TrimSpace(as) {
				return errors.New("--as: expected a name of at most 256 visible characters, without blanks around it")
			}
			if err := checkAs(as); err != nil {
				return err
			}
			if err := rule.check(cmd); err != nil {
				return err
			}
			if err := always.check(cmd); err != nil {
				return err
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				by := approvals.Decider{Name: as, Person: sallyport.LocalPrincipal}
				if always.always {
					return always.give(cmd.Context(), env, f, rt, args[0], by, reason)
				}
				if rule.session {
					return rule.giveRule(cmd.Context(), env, f, rt, args[0], by, reason)
				}
				decided, undecided, err := rt.DecideApprovals(cmd.Context(), args, by, approve, reason)
				if undecided != nil {
					err = &exitError{code: exitFailed, err: undecided}
				}
				yeses, failed := rt.DescribeYeses(cmd.Context(), decided)
				return errors.Join(report.PrintDecided(env.newPrinter(f), decided, yeses, done, len(args) > 1), failUnselected(err), failed)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, as `TEXT` for the record; the caller of a denied call sees it")
	if approve {
		rule.registerFlags(cmd)
		always.registerFlags(cmd)
	}
	cmd.Flags().StringVar(&as, "as", sallyport.LocalPrincipal, "decide as `NAME`")
	return cmd
}

// checkAs refuses a name that reads as that of a person who decides elsewhere, or as
// several.
func checkAs(as string) error {
	if strings.HasPrefix(as, signin.Prefix) {
		return fmt.Errorf("--as: %q is a person of the page, who decides there", as)
	}
	for _, prefix := range []string{"client:", auth.OIDCPrefix, signin.Prefix} {
		if strings.HasPrefix(strings.ToLower(as), prefix) {
			return fmt.Errorf("--as: %q is a person who decides elsewhere: expected a name without %s", as, prefix)
		}
	}
	if strings.Contains(as, " and ") {
		return fmt.Errorf("--as: %q names several: expected one name", as)
	}
	return nil
}

// failUnselected fails a command whose id selects nothing, or several things. Other errors
// stay as they are.
func failUnselected(err error) error {
	if _, ok := errors.AsType[*approvals.NotSelected](err); ok {
		return &exitError{code: exitFailed, err: err}
	}
	return err
}
