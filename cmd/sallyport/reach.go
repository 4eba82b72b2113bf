package main

import (
	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
)

func reachCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reach",
		Short: "Where tools may write, or once could",
		Long: `Show the places in which tools may write, or could under an earlier
configuration. No granted path may pass a symbolic link in one of them, because
an agent may have made it.`,
		Example: `  sallyport reach ls`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(reachList(env, f))
	return cmd
}

func reachList(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List the places in which tools may write, or once could",
		Long:    `List the places that the state remembers, with for whom, and when that was last in force.`,
		Example: `  sallyport reach ls`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withState(cmd.Context(), env, f, func(g *gate) error {
				all, err := g.desk.WritePlaces(cmd.Context())
				if err != nil {
					return misused(err)
				}
				p := env.printer(f)
				if p.json {
					if all == nil {
						all = []sallyport.WritePlace{}
					}
					return p.value(all)
				}
				rows := [][]string{{"PLACE", "FOR", "FIRST", "LAST"}}
				for _, w := range all {
					rows = append(rows, []string{oneLine(w.Path), w.By, w.First.Local().Format("2006-01-02"), w.Last.Local().Format("2006-01-02")})
				}
				p.table(rows)
				return nil
			})
		},
	}
}
