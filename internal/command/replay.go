package command

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
)

func replayCommand(env *environment, f *flags) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Say what another configuration would have decided about recorded calls",
		Long: `Decide the calls of the record again, under the configuration of --config, and
print each whose verdict flips: allowed, held or refused. Nothing is run, no server
is started, and nothing is recorded. The record is that of the configuration which
commands find without --config.

A call that cannot be decided again is listed as not replayable, with the reason,
and never counts as the same. The exit code is 1 when a verdict flips.`,
		Example: `  sallyport replay --config stricter.yaml
  sallyport replay --config stricter.yaml --since 168h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := parseSince(since, time.Now())
			if err != nil {
				return err
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForReplay, func(rt *app.Runtime) error {
				p := env.newPrinter(f)
				sum, err := rt.Replay(cmd.Context(), from, func(c *app.ReplayedCall) error { return report.PrintReplayed(p, c) })
				if err != nil {
					return err
				}
				if err := report.PrintReplaySummary(p, sum); err != nil {
					return err
				}
				return failUnless(sum.Flips == 0)
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "only calls from this `TIME` on: 2026-01-31, RFC 3339, or an age such as 24h")
	return cmd
}
