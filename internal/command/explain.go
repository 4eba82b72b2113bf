package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
)

// explainQuestions holds the questions that explain answers besides the grant.
type explainQuestions struct {
	app.ReachQuestion
	call string
}

// checkFlags refuses flags that the command would otherwise ignore.
func (q *explainQuestions) checkFlags(cmd *cobra.Command, args []string) error {
	for _, name := range []string{"host", "path", "call"} {
		if f := cmd.Flag(name); f.Changed && f.Value.String() == "" {
			return fmt.Errorf("explain: --%s is empty: expected %s", name, strings.ToUpper(name))
		}
	}
	switch {
	case q.call == "" && len(args) == 0:
		return errors.New("explain: expected a TOOL, or --call ID")
	case q.call != "" && len(args) > 0:
		return errors.New("explain: give a TOOL or --call ID, not both")
	case q.call != "" && (q.Host != "" || q.Path != "" || q.Write):
		return errors.New("explain: --host, --path and --write ask about a TOOL, not about a past call")
	case q.Write && q.Path == "":
		return errors.New("explain: --write asks about a --path PATH, which is missing")
	case strings.Contains(q.Host, "://"):
		return fmt.Errorf("explain: --host %q: expected a host, such as api.github.com or localhost:8080, not a URL", q.Host)
	}
	return nil
}

func explainCommand(env *environment, f *flags) *cobra.Command {
	var r callerFlags
	var q explainQuestions
	cmd := &cobra.Command{
		Use:   "explain [TOOL]",
		Short: "Say what a tool gets, what was dropped, and why",
		Long: `Print the grant of a tool under a personality, item by item. For each item that
was dropped it says why. --host and --path ask about one host or path: a path for
reading and writing, as far as the tool declares them. --call explains a past
call: what was decided, which rule refused it, and the smallest change that would
allow it. The exit code is 1 when an answer is no.`,
		Example: `  sallyport explain read_file
  sallyport explain fetch_url --host api.github.com
  sallyport explain write_file --path notes/a.txt --write
  sallyport explain --call 06e2k7m9q4c1v8w3x5z0a2b4`,
		Args:    cobra.MaximumNArgs(1),
		PreRunE: q.checkFlags,
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.call != "" {
				return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
					return explainCall(cmd.Context(), rt, env.newPrinter(f), q.call)
				})
			}
			open := app.OpenForView
			if form, _ := sallyport.ParseID(args[0]); form == sallyport.FormResource || app.ServerOf(args[0]) != "" {
				open = app.OpenForQuestions
			}
			return r.withGate(cmd.Context(), env, f, open, func(rt *app.Runtime, caller *sallyport.Caller) error {
				rt.FindServers(cmd.Context(), caller, rt.InForce().ServersFor(args[0]), app.LeftOf(args[0]))
				rt.InForce().PrintUnaccepted(env.Stderr)
				return explainTool(cmd.Context(), rt, env.newPrinter(f), caller, args[0], &q)
			})
		},
	}
	r.registerFlags(cmd)
	cmd.Flags().StringVar(&q.Host, "host", "", "ask about this `HOST` or host:port")
	cmd.Flags().StringVar(&q.Path, "path", "", "ask about this `PATH`")
	cmd.Flags().BoolVar(&q.Write, "write", false, "with --path: ask about writing alone")
	cmd.Flags().StringVar(&q.call, "call", "", "explain the past call `ID`")
	return cmd
}

// explainTool explains what a tool gets. It fails when an answer is no.
func explainTool(ctx context.Context, rt *app.Runtime, p *report.Printer, caller *sallyport.Caller, tool string, q *explainQuestions) error {
	x, err := rt.InForce().Registry.Explain(caller, tool)
	if err != nil {
		return err
	}
	rt.AddApprovers(&x)
	answers, err := rt.AnswerReach(ctx, caller, &x, &q.ReachQuestion)
	if err != nil {
		return err
	}
	p.Trim = rt.TrimCommands
	if err := report.PrintExplanation(p, &report.Explanation{Explanation: x, Questions: answers, Sets: rt.ReadSets(ctx, app.SetsOf(x.Arguments))}); err != nil {
		return err
	}
	refused := func(d sallyport.Decision) bool { return !d.Allowed }
	return failUnless(!slices.ContainsFunc(append(x.Decisions, answers...), refused))
}

// explainCall explains a past call from its records.
func explainCall(ctx context.Context, rt *app.Runtime, p *report.Printer, call string) error {
	events, err := eventsOf(ctx, rt, call)
	if err != nil {
		return err
	}
	p.Trim = rt.TrimCommands
	return report.PrintCall(p, events)
}
