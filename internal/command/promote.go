package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/granting"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

func promoteCommand(env *environment, f *flags) *cobra.Command {
	var yes bool
	var expect string
	cmd := &cobra.Command{
		Use:   "promote FILE",
		Short: "Put another configuration in force",
		Long: `Put the configuration in FILE in the place of the one in force, which lies in the
same folder. The command loads it as check does, shows what changes in the
configuration and in ` + app.LockName + `, and what serve --shadow has counted of exactly this
text, and asks. After a yes both files change in one step, and a running server uses
them at once. FILE stays. What a pinned MCP server may touch follows its new
declaration; what it runs still has to be accepted with lock accept.

Without a terminal, give the digest that was shown with --expect, or at least its
first 32 digits. If one of the files has changed since, nothing is changed and the
exit code is 1.`,
		Example: `  sallyport promote new.yaml
  sallyport promote new.yaml --expect 9ffa0b1c2d3e4f5061728394a5b6c7d8`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForCheck, func(rt *app.Runtime) error {
				next, err := granting.NewPromotion(cmd.Context(), rt, args[0])
				if err != nil {
					return usageError(err)
				}
				if err := report.PrintPromotion(env.newPrinter(f), env.Stderr, next, rt.InForce().Config.Digest); err != nil {
					return err
				}
				if err := confirmPromotion(env, f, next, yes, expect); err != nil {
					return err
				}
				if err := next.Apply(cmd.Context(), rt); err != nil {
					return notAsShown(err)
				}
				printUnlessJSON(env.newPrinter(f), "done")
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "make the change without a question")
	cmd.Flags().StringVar(&expect, "expect", "", "the `HASH` that was shown; nothing is asked")
	cmd.MarkFlagsMutuallyExclusive("yes", "expect")
	return cmd
}

// confirmPromotion returns no error when a promotion is to be made.
func confirmPromotion(env *environment, f *flags, next *granting.Promotion, yes bool, expect string) error {
	switch {
	case expect != "":
		return notAsShown(next.CheckExpected(expect))
	case yes:
		return nil
	case !env.canAsk(f):
		command := env.ProgramName() + " promote " + text.ShellWord(next.File) + " --expect " + next.Expect + text.RepeatFlag("config", f.config)
		return usageError(fmt.Errorf("nothing was changed: there is no terminal to ask at. When you accept what is shown: %s", command))
	case !env.ask("put this in force?"):
		return &exitError{code: exitFailed, err: errors.New("nothing was changed")}
	}
	return nil
}

// notAsShown gives the error of a promotion that is not what was shown its exit code.
func notAsShown(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, granting.ErrNotAsShown):
		return &exitError{code: exitFailed, err: fmt.Errorf("nothing was changed: %w; run the command again to look", err)}
	}
	return usageError(err)
}
