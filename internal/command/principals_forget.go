package command

import (
	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/text"
)

func principalsForget(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "forget NAME",
		Short: "Forget what a principal's sessions read and what it noted",
		Long: `Forget what the sessions of a principal have read. After that, calls that may
carry data out are no longer held because of it. The agent still has the content
in its conversation: use this command when the conversation is over. The notes
that the principal kept with memory_write are removed, too, also those that it
kept for its role.`,
		Example: `  sallyport principals forget ci-agent`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			return withCallers(cmd.Context(), env, f, true, func(rt *app.Runtime) error {
				if err := app.CheckPrincipal(cmd.Context(), rt, name); err != nil {
					return err
				}
				var was bool
				var notes int
				err := rt.RecordFirst(cmd.Context(), app.ChangeEvent(audit.ActionForget, "principal "+name, ""), func() (err error) {
					if was, err = rt.Access.Facts().Forget(cmd.Context(), name); err == nil {
						notes, err = rt.ForgetNotes(cmd.Context(), name)
					}
					return err
				})
				if err != nil {
					return err
				}
				line := "what the sessions of %s have read is forgotten"
				switch {
				case notes > 0:
					line += ", and " + text.CountOf(notes, "note")
				case !was:
					line = "nothing was kept of %s"
				}
				return env.newPrinter(f).PrintAnswer(map[string]any{"name": name, "forgotten": was || notes > 0, "notes": notes}, line, name)
			})
		},
	}
}
