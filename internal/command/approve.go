package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/lock"
)

func approveCommand(env *environment, f *flags) *cobra.Command {
	var expect string
	cmd := &cobra.Command{
		Use:   "approve [SERVER[/TOOL]] --expect HASH",
		Short: "Pin the changes of MCP servers that diff has shown",
		Long: `Pin what an MCP server is and offers now. Name a tool to pin only that tool. Name
nothing to pin everything. The new pins replace the old ones. HASH is the digest
that diff printed, or at least its first 16 digits. If the server has changed
again since then, nothing is pinned and the exit code is 1. A running server
uses the new file at once.

This command is about definitions. To decide about a held call, use approvals
approve.`,
		Example: `  sallyport approve notes --expect 51c0a1d2e3f40516
  sallyport approve notes/add --expect 9ffa0b1c2d3e4f50
  sallyport approve --expect 0a1b2c3d4e5f6071`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := scopeOf(args)
			if err != nil {
				return err
			}
			return withLook(cmd.Context(), env, f, app.AskChanged, func(rt *app.Runtime) error {
				a, err := pinning.AcceptLock(cmd.Context(), rt, f.config, s, expect)
				if mismatch, ok := errors.AsType[*lock.Mismatch](err); ok {
					return &exitError{code: exitFailed, err: fmt.Errorf("%w with sallyport diff; nothing was pinned", mismatch)}
				}
				if err != nil {
					return usageError(err)
				}
				return printAcceptance(a, env.newPrinter(f))
			})
		},
	}
	cmd.Flags().StringVar(&expect, "expect", "", "the `HASH` that diff printed")
	// MarkFlagRequired fails only for an unknown flag, and the line before
	// declares this one.
	_ = cmd.MarkFlagRequired("expect")
	return cmd
}
