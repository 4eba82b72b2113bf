package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/group"
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
			if app.ServerOf(args[0]) != "" {
				open = app.OpenForQuestions
			}
			return r.withGate(cmd.Context(), env, f, open, func(rt *app.Runtime, caller *sallyport.Caller) error {
				rt.FindServers(cmd.Context(), caller, []string{app.ServerOf(args[0])}, leftOf(args[0]))
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
}

func explainTool(ctx context.Context, rt *app.Runtime, p *report.Printer, caller *sallyport.Caller, tool string, q *explainQuestions) error {
	x, err := rt.Registry.Explain(caller, tool)
	if err != nil {
		return usageError(err)
	}
	answers, err := answerQuestions(ctx, rt, caller, &x, q)
	if err != nil {
		return usageError(err)
	}
	if p.JSON {
		err = p.PrintJSON(explanation{x, answers})
	} else {
		printExplanation(p, &x, answers)
	}
	for _, d := range append(x.Decisions, answers...) {
		if err == nil && !d.Allowed {
			err = silentFailure()
		}
	}
	return err
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

func printExplanation(p *report.Printer, x *registry.Explanation, answers []sallyport.Decision) {
	p.PrintLine("%s for personality %s", x.Tool, orNone(x.Personality))
	for _, d := range x.Decisions {
		if !d.Allowed || d.Why != "" {
			printDecision(p, d)
		}
	}
	if x.Grant != nil {
		p.PrintLine("")
		printGrant(p, x)
	}
	printFacts(p, x.Facts)
	for _, d := range answers {
		p.PrintLine("")
		printDecision(p, d)
	}
}

// printFacts prints the facts that a call adds to its conversation.
func printFacts(p *report.Printer, f sallyport.Facts) {
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
func printGrant(p *report.Printer, x *registry.Explanation) {
	g := x.Grant
	var rows [][]string
	for i := range group.All() {
		rows = append(rows, groupRows(p, &group.All()[i], g)...)
	}
	for _, d := range g.Dropped {
		row := []string{p.ColourBad("drop"), d.Capability, d.Item, d.Why}
		if d.Source != "" {
			row[3] += " (" + d.Source + ")"
		}
		rows = append(rows, row)
		if d.Fix != "" {
			rows = append(rows, []string{"", "", "", "fix: " + d.Fix})
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
func groupRows(p *report.Printer, one *group.Group, g *sallyport.Grant) (rows [][]string) {
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

// printDecision prints the decision of one step.
func printDecision(p *report.Printer, d sallyport.Decision) {
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
	if d.Fix != "" {
		p.PrintLine("      fix: %s", text.OneLine(d.Fix))
	}
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
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
		p.PrintLine("%s is a change, not a call: %s", call, text.OneLine(describeChange(&events[0])))
		return nil
	}
	p.PrintLine("call %s: %s by %s as %s at %s", last.CallID, text.OneLine(string(last.Tool)), last.Principal,
		orNone(string(last.Personality)), last.Time.Local().Format("2006-01-02 15:04:05"))
	if last.Args != "" {
		p.PrintLine("arguments: %s", text.Clip(string(last.Args), 1000))
	}
	explainOutcome(p, last)
	for i := range events {
		if events[i].Kind == audit.KindChange {
			p.PrintLine("decision: %s", text.OneLine(describeChange(&events[i])))
		}
	}
	return nil
}

// explainOutcome prints how a call ended.
func explainOutcome(p *report.Printer, last *audit.Event) {
	if last.Kind == audit.KindIntent {
		p.PrintLine("outcome unknown: the call still runs, or its process died before it could be recorded")
		return
	}
	p.PrintLine("outcome: %s", outcomeWord(p, last))
	if !last.OK {
		p.PrintLine("         %s: %s", last.Code, text.OneLine(string(last.Error)))
	}
	explainDecisions(p, last)
}

// explainDecisions prints what was refused and what the call used.
func explainDecisions(p *report.Printer, e *audit.Event) {
	var used, changed []string
	refusals, children := 0, false
	for _, d := range e.Decisions {
		switch {
		case !d.Allowed:
			refusals++
			printDecision(p, d)
		case d.Source == reach.UnattributedSource:
			changed = append(changed, text.OneLine(describeAccess(d)))
		case d.Step == sallyport.StepAccess:
			used = append(used, text.OneLine(describeAccess(d)))
			children = children || d.Capability == "process"
		}
	}
	if refusals == 0 {
		p.PrintLine("no step refused")
	}
	if children {
		p.PrintLine("children: confined at the level %s", e.Level)
	}
	printLines(p, "used:", used)
	printLines(p, "changed at the same time:", changed)
}

// printLines prints lines under a heading. It prints nothing when there are no
// lines.
func printLines(p *report.Printer, heading string, lines []string) {
	if len(lines) > 0 {
		p.PrintLine("%s", heading)
	}
	for _, line := range lines {
		p.PrintLine("  %s", line)
	}
}

// describeAccess describes one thing that a call used: its kind, its name and the kind
// of access.
func describeAccess(d sallyport.Decision) string {
	return strings.TrimSpace(d.Capability + " " + d.Resource + ": " + d.Why)
}
