package command

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
)

func principalsLs(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List principals, and what is stopped",
		Example: "  sallyport principals ls",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCallers(cmd.Context(), env, f, false, func(rt *app.Runtime) error {
				entries, err := rt.Callers.Entries(cmd.Context())
				if err != nil {
					return err
				}
				stopped, err := rt.Switches.All(cmd.Context())
				if err != nil {
					return err
				}
				return report.PrintPrincipals(env.newPrinter(f), entries, stopped, time.Now())
			})
		},
	}
}
