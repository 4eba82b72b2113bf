package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// explainQuestions holds the questions that explain answers besides the grant.
type explainQuestions struct {
	host, path, call string
	write            bool
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
	case q.call != "" && (q.host != "" || q.path != "" || q.write):
		return errors.New("explain: --host, --path and --write ask about a TOOL, not about a past call")
	case q.write && q.path == "":
		return errors.New("explain: --write asks about a --path PATH, which is missing")
	case strings.Contains(q.host, "://"):
		return fmt.Errorf("explain: --host %q: expected a host, such as api.github.com or localhost:8080, not a URL", q.host)
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
was dropped it says why. --host and --path ask about one host or path. --call
explains a past call: what was decided, which rule refused it, and the smallest
change that would allow it. The exit code is 1 when the answer is no.`,
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
				rt.FindServers(cmd.Context(), caller, rt.ServersFor(args[0]), app.LeftOf(args[0]))
				rt.PrintUnaccepted(env.Stderr)
				return explainTool(cmd.Context(), rt, env.newPrinter(f), caller, args[0], &q)
			})
		},
	}
	r.registerFlags(cmd)
	cmd.Flags().StringVar(&q.host, "host", "", "ask about this `HOST` or host:port")
	cmd.Flags().StringVar(&q.path, "path", "", "ask about this `PATH`")
	cmd.Flags().BoolVar(&q.write, "write", false, "with --path: ask whether the tool may write there")
	cmd.Flags().StringVar(&q.call, "call", "", "explain the past call `ID`")
	return cmd
}

// explanation is the JSON answer of explain.
type explanation struct {
	registry.Explanation
	Questions []sallyport.Decision `json:"questions,omitempty"`
	// Sets is what the queries of the sets gave that the ceilings name.
	Sets []app.SetReading `json:"sets,omitempty"`
}

func explainTool(ctx context.Context, rt *app.Runtime, p *report.Printer, caller *sallyport.Caller, tool string, q *explainQuestions) error {
	x, err := rt.Registry.Explain(caller, tool)
	if err != nil {
		return err
	}
	answers, err := answerQuestions(ctx, rt, caller, &x, q)
	if err != nil {
		return err
	}
	p.Trim = rt.TrimCommands
	sets := rt.ReadSets(ctx, app.SetsOf(x.Arguments))
	if !p.JSON {
		report.PrintExplanation(p, &x, answers)
		report.PrintReadings(p, sets)
	} else if err := p.PrintJSON(explanation{x, answers, sets}); err != nil {
		return err
	}
	refused := func(d sallyport.Decision) bool { return !d.Allowed }
	return failUnless(!slices.ContainsFunc(append(x.Decisions, answers...), refused))
}

// answerQuestions answers the question about one host or path.
func answerQuestions(ctx context.Context, rt *app.Runtime, caller *sallyport.Caller, x *registry.Explanation, q *explainQuestions) ([]sallyport.Decision, error) {
	var answers []sallyport.Decision
	if q.host != "" {
		host, port, err := reach.SplitHostPort(q.host)
		if err != nil {
			return nil, fmt.Errorf("--host: %w", err)
		}
		answers = append(answers, askHost(x, host, port))
	}
	if q.path != "" {
		operation := "read"
		if q.write {
			operation = "write"
		}
		answers = append(answers, rt.Registry.Path(ctx, caller, x.Tool, operation, q.path))
	}
	return answers, nil
}

// askHost answers the question about a host and a port. A host without a port
// means both default ports: the host is reachable when one of them is.
func askHost(x *registry.Explanation, host string, port uint16) sallyport.Decision {
	if port != 0 {
		return x.Host(host, port)
	}
	d := x.Host(host, 443)
	if plain := x.Host(host, 80); !d.Allowed && plain.Allowed {
		plain.Why = "at port 80 only"
		return plain
	}
	return d
}

// explainCall explains a past call from its records.
func explainCall(ctx context.Context, rt *app.Runtime, p *report.Printer, call string) error {
	events, err := eventsOf(ctx, rt, call)
	if err != nil {
		return err
	}
	if p.JSON {
		return p.PrintJSON(events)
	}
	var last *audit.Event
	for i := range events {
		if events[i].Kind != audit.KindChange {
			last = &events[i]
		}
	}
	if last == nil {
		p.PrintLine("%s is a change, not a call: %s", call, text.OneLine(report.DescribeChange(&events[0])))
		return nil
	}
	p.PrintLine("call %s: %s by %s as %s at %s", last.CallID, text.OneLine(string(last.Tool)), last.Principal,
		cmp.Or(string(last.Personality), "(none)"), last.Time.Local().Format("2006-01-02 15:04:05"))
	p.Trim = rt.TrimCommands
	if last.Args != "" {
		p.PrintLine("arguments: %s", text.Clip(string(last.Args), 1000))
	}
	report.PrintOutcome(p, last)
	for i := range events {
		if events[i].Kind == audit.KindChange {
			p.PrintLine("decision: %s", text.OneLine(report.DescribeChange(&events[i])))
		}
	}
	return nil
}
