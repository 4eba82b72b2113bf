package command

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/report"
)

func auditCosts(env *environment, f *flags) *cobra.Command {
	var q auditFilter
	var tally costs.Tally
	cmd := &cobra.Command{
		Use:   "costs",
		Short: "Add up what calls cost, by day and principal",
		Long: `Add up what calls cost in US dollars, by day in UTC and principal, as their
results said it. With --sessions each session has a line of its own. A budget
counts the same amounts, and what it set aside for calls that did not come to
their end.`,
		Example: `  sallyport audit costs --since 30d
  sallyport audit costs --principal ci-agent --sessions`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, err := q.newQuery(time.Now())
			if err != nil {
				return err
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				for e, err := range audit.Events(cmd.Context(), rt.State, query) {
					if err != nil {
						return err
					}
					tally.Add(e.Time, e.Principal, string(e.Session), e.CostUSD)
				}
				return report.PrintCosts(env.newPrinter(f), &tally)
			})
		},
	}
	q.registerFlags(cmd, 0)
	cmd.Flags().BoolVar(&tally.Sessions, "sessions", false, "a line for each session")
	return cmd
}
