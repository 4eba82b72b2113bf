package command

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/report"
)

func knownCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "known",
		Short: "List what sets of values grew by, and take members off",
		Long: `List what sets of values grew by, and take members off. The configuration
declares sets under known; ceilings over arguments name them. A set grows when a
person approves a held call for always. What its list, file and query hold is yours
alone: no command writes it.`,
		Example: `  sallyport known ls
  sallyport known rm contacts bob@example.com
  sallyport known export payees >> payees.txt`,
		RunE: groupCommand,
	}
	cmd.AddCommand(knownList(env, f), knownRemove(env, f), knownExport(env, f))
	return cmd
}

func knownList(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "ls [SET]",
		Short: "List the sets, or the members of one",
		Long: `List the sets with the number of members, or the members of one set: what its
list, file and query hold, and by what it grew: who gave each, when, why, and for
which held call. Queries are read. The exit code is 1 when one cannot be read.`,
		Example: `  sallyport known ls
  sallyport known ls contacts --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForSets, func(rt *app.Runtime) error {
				sets, err := rt.ListKnown(cmd.Context(), strings.Join(args, ""))
				if err != nil {
					return setError(err)
				}
				if err := report.PrintKnown(env.newPrinter(f), sets, len(args) > 0); err != nil {
					return err
				}
				return failUnless(!slices.ContainsFunc(sets, func(s app.KnownSet) bool { return s.Query != nil && s.Query.Error != "" }))
			})
		},
	}
}

func knownRemove(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "rm SET VALUE",
		Short: "Take a value off what a set grew by",
		Long: `Take a value off what a set grew by. Every process that uses the state sees it
within a second: the next call with the value is held or refused again.`,
		Example: "  sallyport known rm contacts bob@example.com",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKnown(cmd.Context(), env, f, args[0], func(rt *app.Runtime, _ []known.Member) error {
				if err := rt.RemoveKnown(cmd.Context(), args[0], args[1]); err != nil {
					return &exitError{code: exitFailed, err: err}
				}
				return env.newPrinter(f).PrintAnswer(map[string]any{"set": args[0], "removed": args[1]}, "%s: %+q is no member any more", args[0], args[1])
			})
		},
	}
}

func knownExport(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "export SET",
		Short: "Print the members by which a set grew, one a line",
		Long: `Print the members by which a set grew, one a line, as its file can hold them. A
member that no line of a file can hold is left out, and the exit code is 1.`,
		Example: "  sallyport known export payees >> payees.txt",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKnown(cmd.Context(), env, f, args[0], func(_ *app.Runtime, grown []known.Member) error {
				left, err := report.PrintKnownFile(env.newPrinter(f), grown)
				if err == nil && left > 0 {
					err = &exitError{code: exitFailed, err: errors.New("some members begin with #, or have characters that no line can hold: they are left out")}
				}
				return err
			})
		},
	}
}

// withKnown finds the members by which a set grew and runs do.
func withKnown(ctx context.Context, env *environment, f *flags, set string, do func(rt *app.Runtime, grown []known.Member) error) error {
	return withRuntime(ctx, env, f, app.OpenForRecord, func(rt *app.Runtime) error {
		grown, err := rt.GrownMembers(ctx, set)
		if err != nil {
			return setError(err)
		}
		return do(rt, grown)
	})
}

// setError gives an error about a set its exit code: a name that the configuration lacks
// is a mistake of the caller.
func setError(err error) error {
	if errors.Is(err, app.ErrSetUnknown) {
		return usageError(err)
	}
	return &exitError{code: exitFailed, err: err}
}
