package command

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

func diffCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "diff [SERVER]",
		Short: "Show what changed of MCP servers since they were pinned",
		Long: `Ask each pinned MCP server, or the named one, what it offers now. Show what differs
from ` + app.LockName + `: how severe the change is, the old text, the new text, and the
command that accepts it.

A server that would now be started in another way is not started. Accept its
launch first. Then run diff again to see what the server offers.

The exit code is 1 when something differs or a server does not answer.`,
		Example: `  sallyport diff
  sallyport diff notes
  sallyport diff --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLook(cmd.Context(), env, f, app.AskChanged, func(rt *app.Runtime) error {
				scope := lock.Scope{}
				if len(args) > 0 {
					scope.Server = args[0]
				}
				r, err := pinning.CompareLock(cmd.Context(), rt, f.config, scope)
				if err != nil {
					return err
				}
				return printDiff(r, env.newPrinter(f))
			})
		},
	}
}

// printDiff prints the changes, the most serious change of each server first.
func printDiff(d *pinning.LockDiff, p *report.Printer) error {
	if !p.JSON {
		printText(d, p)
	} else if err := p.PrintJSON(d); err != nil {
		return err
	}
	return failUnless(d.Same)
}

func printText(d *pinning.LockDiff, p *report.Printer) {
	if d.Same {
		p.PrintLine("everything is as %s has it", d.File)
	}
	order := printChanges(p, d.Changes, func(server string) { printAcceptHints(d, p, server) })
	for i := range d.Servers {
		printState(p, &d.Servers[i])
	}
	// Only the acceptance of everything removes a server that is no longer
	// declared.
	alone := len(order) == 1 && slices.ContainsFunc(d.Servers, func(st pinning.ServerState) bool { return st.Server == order[0] })
	if d.AcceptAll != "" && !alone {
		p.PrintLine("accept all of it: %s", d.AcceptAll)
	}
}

// printChanges prints the changes below the names of their servers and returns
// these names. It calls after behind the changes of each server.
func printChanges(p *report.Printer, changes []lock.Change, after func(server string)) (order []string) {
	byServer := map[string][]lock.Change{}
	for _, c := range changes {
		byServer[c.Server] = append(byServer[c.Server], c)
	}
	order = slices.Sorted(maps.Keys(byServer))
	for _, server := range order {
		p.PrintLine("%s", server)
		for _, c := range byServer[server] {
			printChange(p, &c)
		}
		after(server)
	}
	return order
}

// printAcceptHints prints the commands that accept the present state of a
// server.
func printAcceptHints(d *pinning.LockDiff, p *report.Printer, server string) {
	for _, st := range d.Servers {
		if st.Server != server || st.Accept == "" {
			continue
		}
		if !st.Started {
			p.PrintLine("  It was not started: accept its launch, then ask again what it offers.")
		}
		p.PrintLine("  accept: %s", st.Accept)
	}
	for _, c := range d.Changes {
		one := lock.Scope{Server: c.Server, Tool: c.Name}.String()
		if command := d.Tools[one]; c.Server == server && command != "" {
			p.PrintLine("  accept %s alone: %s", text.PrintableLine(c.Name), command)
			delete(d.Tools, one)
		}
	}
}

func printChange(p *report.Printer, c *lock.Change) {
	severity := string(c.Severity)
	if c.Severity.AtLeast(lock.SeverityHigh) {
		severity = p.ColourBad(severity)
	}
	what := []string{string(c.Kind)}
	for _, s := range []string{c.Name, c.Field} {
		if s != "" {
			what = append(what, text.PrintableLine(s))
		}
	}
	p.PrintLine("  %s %s: %s", severity, strings.Join(what, " "), c.Message)
	for _, side := range []struct{ word, text string }{{"was", c.Was}, {"is ", c.Is}} {
		if side.text != "" {
			p.PrintLine("    %s %s", side.word, text.PrintableLine(side.text))
		}
	}
	if c.Cut {
		p.PrintLine("    there are more differences: read the whole definition before you accept it")
	}
}

// scopeOf parses SERVER or SERVER/TOOL.
func scopeOf(args []string) (s lock.Scope, err error) {
	if len(args) == 0 {
		return s, nil
	}
	s.Server, s.Tool, _ = strings.Cut(args[0], "/")
	if s.Server == "" || strings.HasSuffix(args[0], "/") && s.Tool == "" {
		return s, errors.New("expected SERVER or SERVER/TOOL")
	}
	return s, nil
}
