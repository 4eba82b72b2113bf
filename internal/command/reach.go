package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/text"
)

func reachCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reach",
		Short: "Manage the places in which tools may write, or once could",
		Long: `List and forget the places in which tools may write, or could under an earlier
configuration. An agent may have made symbolic links there. So no granted path
may pass through such a link.`,
		Example: `  sallyport reach ls
  sallyport reach forget /srv/old
  sallyport reach accept action deploy`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(reachList(env, f), reachForget(env, f), reachAccept(env, f))
	return cmd
}

func reachList(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List the places in which tools may write, or once could",
		Long:    `List the places that the state remembers, who may write there, and when that was last in force.`,
		Example: `  sallyport reach ls`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				all, err := rt.Access.WritePlaces(cmd.Context())
				if err != nil {
					return err
				}
				p := env.newPrinter(f)
				if p.JSON {
					if all == nil {
						all = []sallyport.WritePlace{}
					}
					return p.PrintJSON(all)
				}
				rows := [][]string{{"PLACE", "FOR", "FIRST", "LAST"}}
				for _, w := range all {
					rows = append(rows, []string{text.OneLine(w.Path), w.By, w.First.Local().Format("2006-01-02"), w.Last.Local().Format("2006-01-02")})
				}
				p.PrintTable(rows)
				return nil
			})
		},
	}
}

func reachForget(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "forget PATH",
		Short: "Forget that tools could write in a place",
		Long: `Forget that tools could write in a place under an earlier configuration, so that
symbolic links in it count as yours. Look at the links first: an agent may have
made them. The next command remembers again each place that the present
configuration lets tools write.`,
		Example: `  sallyport reach forget /srv/old`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				found := false
				err := rt.RecordFirst(cmd.Context(), app.ChangeEvent(audit.ActionForgetPlace, args[0], ""), func() (err error) {
					found, err = rt.Access.ForgetWritePlace(cmd.Context(), args[0])
					return err
				})
				switch {
				case err != nil:
					return err
				case !found:
					return fmt.Errorf("reach forget: the state knows no place %q: %s reach ls lists the places", args[0], env.ProgramName())
				}
				return env.newPrinter(f).PrintAnswer(map[string]any{"path": args[0], "forgotten": true},
					"%s is forgotten", text.OneLine(args[0]))
			})
		},
	}
}
