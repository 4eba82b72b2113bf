package command

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
)

func approvalsRules(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "rules",
		Short: "List what is allowed for a session or for always",
		Long: `List what people allowed for more than one run: rules for sessions, exceptions for
always, and the members by which sets grew.`,
		Example: "  sallyport approvals rules",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				list, err := rt.Rules.List(cmd.Context())
				if err != nil {
					return err
				}
				always, err := rt.ListAlways(cmd.Context())
				if err != nil {
					return err
				}
				return report.PrintRules(env.newPrinter(f), list, always, time.Now())
			})
		},
	}
}

func approvalsRevoke(env *environment, f *flags) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "revoke [ID]",
		Short: "End what is allowed for a session or for always",
		Long: `End what approve --session or approve --always gave for a held call, or all rules
and exceptions. It takes effect within a second in every process that uses the
state: the next call is held again. With --all the members of sets stay; known rm
takes them off.`,
		Example: `  sallyport approvals revoke 06e2k7m9q4c1v8w3x5z0a2b4
  sallyport approvals revoke --all`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("expected the id of a rule, or --all")
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				revoke := rt.RevokeRules
				if !all {
					revoke = func(ctx context.Context) ([]string, error) { return rt.RevokeSelected(ctx, args[0]) }
				}
				ids, err := revoke(cmd.Context())
				if err != nil {
					return failUnselected(err)
				}
				return env.newPrinter(f).PrintAnswer(map[string]any{"revoked": ids}, "revoked: %s", strings.Join(ids, ", "))
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "end all rules and exceptions, also those that cannot be read")
	return cmd
}
