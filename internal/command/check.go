package command

import (
	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
)

func checkCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and every tool under every personality",
		Long: `Check the configuration, and every tool under every personality that can reach
it. Print what this machine enforces. The command looks for every secret that the
configuration names, connects to the databases and mail relays, and starts the MCP
servers to ask what they offer. The exit code is 1 when something does not fit, a
secret is not set or something does not answer, and 2 when the configuration
cannot be loaded.`,
		Example: `  sallyport check
  sallyport check --config prod.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForCheck, func(rt *app.Runtime) error {
				rt.InForce().Servers.EveryRole = true
				rt.InForce().DiscoverServers(cmd.Context(), "", app.EveryServer)
				rt.InForce().PrintWarnings(env.Stderr)
				env.warnOfCopies(rt.InForce().Config.Files...)
				misfits, lacking := app.CollectMisfits(rt), rt.FindLacks(cmd.Context())
				unheld, err := rt.FindUnheld(cmd.Context())
				if err != nil {
					return err
				}
				changes, err := rt.VersionChanges()
				if err != nil {
					return err
				}
				found := report.Check{
					OK: len(misfits) == 0 && len(lacking) == 0 && len(rt.InForce().Servers.Failed()) == 0, Files: rt.InForce().Config.Files, Workspace: rt.InForce().Config.Workspace, Personalities: rt.InForce().Config.Names(),
					Servers: report.DescribeServers(&rt.InForce().Servers), Misfits: misfits, Lacking: lacking, Unheld: unheld, Enforced: report.DescribeEnforcement(rt), Packages: rt.PackageSources(), Version2: changes,
				}
				if err := report.PrintCheck(env.newPrinter(f), rt, &found); err != nil {
					return err
				}
				return failUnless(found.OK)
			})
		},
	}
}
