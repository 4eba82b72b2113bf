package command

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
)

func auditAnchor(env *environment, f *flags) *cobra.Command {
	var to []string
	cmd := &cobra.Command{
		Use:   "anchor --to FILE",
		Short: "Keep the head of the record in another place",
		Long: `Keep the head of the record in another place. What was recorded before cannot be
rewritten unseen afterwards, not even with the key: audit verify --anchors compares
the record with what was kept. A file gets a line of JSON; keep it where the user of
the gate can only append.`,
		Example: `  sallyport audit anchor --to /mnt/elsewhere/anchors.jsonl
  sallyport audit verify --anchors /mnt/elsewhere/anchors.jsonl`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if len(to) == 0 {
				return errors.New("anchor: --to FILE is missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			for i := range to {
				path, err := filepath.Abs(to[i])
				if err != nil {
					return fmt.Errorf("--to: %w", err)
				}
				to[i] = path
			}
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				p := env.newPrinter(f)
				for _, place := range to {
					warning, err := rt.CheckAnchorFile(place)
					if err != nil {
						return fmt.Errorf("--to: %w", err)
					}
					if warning != "" {
						fmt.Fprintf(env.Stderr, "sallyport: warning: %s\n", warning)
					}
					e, err := rt.AnchorTo(cmd.Context(), place)
					if err != nil {
						return &exitError{code: exitFailed, err: fmt.Errorf("the head is not anchored: %w", err)}
					}
					if err := p.PrintAnswer(map[string]any{"seq": e.Seq, "hash": e.Hash, "to": place}, "%s anchored in %s", e.Head(), place); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringArrayVar(&to, "to", nil, "the `FILE` to which the head is appended; may be repeated")
	return cmd
}
