package command

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/report"
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
				return printDiff(env.newPrinter(f), r)
			})
		},
	}
}

// printDiff prints how servers differ from their pins, and fails when they do.
func printDiff(p *report.Printer, d *pinning.LockDiff) error {
	if err := report.PrintDiff(p, d); err != nil {
		return err
	}
	return failUnless(d.Same)
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
