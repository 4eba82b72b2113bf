package command

import (
	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
)

func shadowCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "shadow [FILE]",
		Short: "Say what a configuration that is judged beside the one in force would change",
		Long: `List what serve --shadow has counted: the calls that the second configuration would
have decided otherwise, by tool, with both reasons, since when, and how many calls
were judged, were not replayable, or were left out. FILE means that file as it is now;
without one it is the configuration that was judged last.

The exit code is 1 when a verdict flips. The record has every flip: audit tail.`,
		Example: `  sallyport shadow
  sallyport shadow new.yaml --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := ""
			if len(args) > 0 {
				file = args[0]
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				r, err := rt.FindShadow(cmd.Context(), file)
				if err != nil {
					return usageError(err)
				}
				if err := report.PrintShadow(env.newPrinter(f), r, rt.InForce().Config.Digest); err != nil {
					return err
				}
				return failUnless(r.Flips == 0)
			})
		},
	}
}
