package command

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/report"
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
				if err := report.PrintPinned(env.newPrinter(f), rt.InForce().Servers.Pins.Path, states, added); err != nil {
					return err
				}
				return failUnless(!slices.ContainsFunc(states, func(s pinning.ServerState) bool {
					return s.State == pinning.StateChanged || s.State == pinning.StateUnknown
				}))
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
