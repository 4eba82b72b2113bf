package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
)

func reachAccept(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "accept action|server NAME",
		Short: "Accept a changed program that lies where tools may write",
		Long: `Let an action or a server run its program as it is now. Use it when the program
lies where tools may write and has changed since the gate first saw it. Look at
the file first: an agent may have changed it. A running server uses it after the
configuration is loaded again.`,
		Example: `  sallyport reach accept action deploy`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForCheck, func(rt *app.Runtime) error {
				for _, w := range rt.InForce().Programs {
					if w.Kind != args[0] || w.Name != args[1] {
						continue
					}
					now := w.CurrentDigest()
					err := rt.RecordFirst(cmd.Context(), app.ChangeEvent(audit.ActionAcceptProgram, w.Kind+" "+w.Name, now), func() error {
						return rt.Settings.Put(cmd.Context(), w.StateKey(), now)
					})
					if err != nil {
						return err
					}
					return env.newPrinter(f).PrintAnswer(map[string]any{"kind": w.Kind, "name": w.Name, "digest": now},
						"%s %s runs as it is now", w.Kind, w.Name)
				}
				return fmt.Errorf("reach accept: no %s %q runs a program that lies where tools may write", args[0], args[1])
			})
		},
	}
}
