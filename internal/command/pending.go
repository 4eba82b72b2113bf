package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/pending"
	"github.com/sallyport/sallyport/internal/report"
)

func pendingCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "Review what children changed in configuration that runs commands",
		Long: `Review what children in overlay mode changed in configuration that runs commands:
the project's files for editors, agents, package managers and build tools. Such
a change is not written with the rest of what a child wrote. It waits here until
a person applies or drops it.`,
		Example: `  sallyport pending ls
  sallyport pending show 1f2e3d4c
  sallyport pending apply 1f2e3d4c --expect 51c0a1d2e3f4051622334455667788aa`,
		RunE: groupCommand,
	}
	cmd.AddCommand(pendingList(env, f), pendingShow(env, f), pendingApply(env, f), pendingDrop(env, f))
	return cmd
}

func pendingList(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the changes that wait", Args: cobra.NoArgs,
		Example: `  sallyport pending ls`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCallers(cmd.Context(), env, f, false, func(rt *app.Runtime) error {
				list, err := rt.PendingChanges().List()
				if err != nil {
					return err
				}
				return report.PrintPending(env.newPrinter(f), list)
			})
		},
	}
}

func pendingShow(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show the difference and the command that applies it", Args: cobra.ExactArgs(1),
		Example: `  sallyport pending show 1f2e3d4c`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withCallers(cmd.Context(), env, f, false, func(rt *app.Runtime) error {
				b, err := rt.PendingChanges().Get(args[0])
				if err != nil {
					return err
				}
				text, err := b.Difference()
				if err != nil {
					return err
				}
				return report.PrintPendingChange(env.newPrinter(f), b, text)
			})
		},
	}
}

func pendingApply(env *environment, f *flags) *cobra.Command {
	var expect string
	cmd := &cobra.Command{
		Use: "apply ID --expect HASH", Short: "Write a change that you have seen", Args: cobra.ExactArgs(1),
		Long: `Write a change that you have seen. HASH is what show printed. Nothing is written
if one of the files has changed since the child began.`,
		Example: `  sallyport pending apply 1f2e3d4c --expect 51c0a1d2e3f4051622334455667788aa`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withCallers(cmd.Context(), env, f, true, func(rt *app.Runtime) error {
				b, err := rt.PendingChanges().Get(args[0])
				if err != nil {
					return err
				}
				if expect != b.Digest() {
					return fmt.Errorf("%s is not the change with the hash %q: look at it with %s pending show %s", b.ID, expect, env.ProgramName(), b.ID)
				}
				err = rt.RecordFirst(cmd.Context(), app.ChangeEvent(audit.ActionApply, b.ID, b.NamePaths()), func() error { return rt.PendingChanges().Apply(b) })
				if errors.Is(err, pending.ErrChanged) {
					return fmt.Errorf("%w; nothing is applied: drop the change with %s pending drop %s", err, env.ProgramName(), b.ID)
				}
				if err != nil {
					return err
				}
				return env.newPrinter(f).PrintAnswer(map[string]any{"id": b.ID, "applied": true, "files": b.Files}, "applied: %s", b.NamePaths())
			})
		},
	}
	cmd.Flags().StringVar(&expect, "expect", "", "the `HASH` that show printed")
	_ = cmd.MarkFlagRequired("expect")
	return cmd
}

func pendingDrop(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "drop ID", Short: "Forget a change", Args: cobra.ExactArgs(1),
		Example: `  sallyport pending drop 1f2e3d4c`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withCallers(cmd.Context(), env, f, true, func(rt *app.Runtime) error {
				b, err := rt.PendingChanges().Get(args[0])
				if err != nil {
					return err
				}
				err = rt.RecordFirst(cmd.Context(), app.ChangeEvent(audit.ActionDrop, b.ID, b.NamePaths()), func() error { return rt.PendingChanges().Drop(b.ID) })
				if err != nil {
					return err
				}
				return env.newPrinter(f).PrintAnswer(map[string]any{"id": b.ID, "dropped": true, "files": b.Files}, "dropped: %s", b.NamePaths())
			})
		},
	}
}
