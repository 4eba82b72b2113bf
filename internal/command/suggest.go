package command

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
)

func suggestCommand(env *environment, f *flags) *cobra.Command {
	var role, since string
	cmd := &cobra.Command{
		Use:   "suggest --role ROLE",
		Short: "Print the least role that would have allowed the calls of the record",
		Long: `Print the least role that would have allowed what was allowed in the record: tools,
hosts, paths, secrets, binaries, and the values of arguments. It is never wider
than the role is today, and it is proved before it is printed: the calls are
decided again with it. Comments name what it leaves out, and why. Nothing is
written. The exit code is 1 when no role could be proved.`,
		Example: `  sallyport suggest --role banker
  sallyport suggest --role banker --since 30d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := parseSince(since, time.Now())
			if err != nil {
				return err
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForSuggest, func(rt *app.Runtime) error {
				if _, err := rt.InForce().Config.Choose(role); err != nil {
					return err
				}
				s, err := rt.SuggestRole(cmd.Context(), role, from)
				if err != nil {
					return &exitError{code: exitFailed, err: err}
				}
				return report.PrintSuggestion(env.newPrinter(f), s)
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "the `ROLE`")
	cmd.Flags().StringVar(&since, "since", "", "only calls from this `TIME` on: 2026-01-31, RFC 3339, or an age such as 24h or 30d")
	_ = cmd.MarkFlagRequired("role") // the flag is there
	return cmd
}
