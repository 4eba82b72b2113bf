package command

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

func lockCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Pin what MCP servers are and offer",
		Long: `Pin each MCP server that a personality lists and that is not pinned yet. The
command starts the server, asks what it offers, and writes the answer into
` + app.LockName + ` beside the configuration. Packages of launchers such as npx are
installed first.

After that, changes need the approval of an operator. Without it a server is not
started in another way, and a changed definition is not offered to a model.
Existing pins stay as they are: diff shows what has changed, and lock accept pins
it. The exit code is 1 when a server could not be pinned or differs from its pin.`,
		Example: `  sallyport lock
  sallyport lock --config prod.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env.showInstalls(f)
			return withLook(cmd.Context(), env, f, app.AskNew, func(rt *app.Runtime) error {
				states, added, err := pinning.PinServers(cmd.Context(), rt, f.config)
				if err != nil {
					return err
				}
				return printPinned(env.newPrinter(f), rt.Servers.Pins.Path, states, added)
			})
		},
	}
	cmd.AddCommand(lockAcceptCommand(env, f))
	return cmd
}

// withLook runs a command that asks servers what they offer now.
func withLook(ctx context.Context, env *environment, f *flags, l app.PinPolicy, do func(rt *app.Runtime) error) error {
	open := func(ctx context.Context, e *app.Environment, paths []string) (*app.Runtime, error) {
		return app.OpenForLock(ctx, e, paths, l)
	}
	return withRuntime(ctx, env, f, open, do)
}

// printPinned prints what lock has done.
func printPinned(p *report.Printer, path string, states []pinning.ServerState, added int) error {
	bad := slices.ContainsFunc(states, func(s pinning.ServerState) bool {
		return s.State == pinning.StateChanged || s.State == pinning.StateUnknown
	})
	if p.JSON {
		if err := p.PrintJSON(struct {
			File    string                `json:"file"`
			Written bool                  `json:"written"`
			Servers []pinning.ServerState `json:"servers"`
		}{path, added > 0, append([]pinning.ServerState{}, states...)}); err != nil {
			return err
		}
		return failUnless(!bad)
	}
	switch {
	case added > 0:
		p.PrintLine("wrote %s: look at it, and keep it with the configuration", path)
	case len(states) == 0:
		p.PrintLine("no MCP server is declared: there is nothing to pin")
	default:
		p.PrintLine("nothing is new in %s", path)
	}
	rows := [][]string{}
	for i := range states {
		rows = append(rows, []string{states[i].Server, pinState(p, states[i].State), text.CountOf(states[i].Offers, "definition")})
	}
	p.PrintTable(rows)
	for i := range states {
		st := &states[i]
		if st.State == pinning.StateChanged {
			p.PrintLine("%s %s differs from its pin: sallyport diff %s shows the changes", p.ColourBad("changed"), st.Server, st.Server)
		}
		printState(p, st)
	}
	return failUnless(!bad)
}

// printState prints the fault of a server.
func printState(p *report.Printer, st *pinning.ServerState) {
	if st.Why != "" {
		p.PrintLine("%s %s: %s", p.ColourBad(st.State), st.Server, text.PrintableLine(st.Why))
	}
	for _, l := range st.Left {
		p.PrintLine("%s %s of %s: %s", p.ColourBad("left out"), text.PrintableLine(l.Tool), st.Server, text.PrintableLine(l.Why))
	}
}

func pinState(p *report.Printer, s string) string {
	if s == pinning.StatePinned || s == pinning.StateAdded {
		return p.ColourGood(s)
	}
	return p.ColourBad(s)
}
