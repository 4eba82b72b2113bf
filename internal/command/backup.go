package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/backup"
	"github.com/sallyport/sallyport/internal/fsx"
)

func backupCommand(env *environment, f *flags) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy the state and the record while the server runs",
		Long: `Copy the state, the record and its key into a new folder, while servers run, and
verify the copy. The folder holds hashes of tokens, what sessions have read, and the
key with which records can be forged: keep it as you keep the state. A folder that
tools of a role could read or write, or that every child sees, as it does /usr and
toolchains, is refused, unless --force is given. The configuration, the lock file and
secrets are files of yours, and are not in it.`,
		Example: "  sallyport backup /mnt/elsewhere/2026-11-26",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForRecord, func(rt *app.Runtime) error {
				dir := fsx.Absolute(env.Dir, args[0])
				if err := backup.CheckPlace(rt, dir); err != nil && !force {
					return &exitError{code: exitFailed, err: fmt.Errorf("backup: %w; name a folder that no tool reaches, or give --force", err)}
				} else if err != nil {
					fmt.Fprintf(env.Stderr, "sallyport: warning: %v\n", err)
				}
				m, err := backup.Make(cmd.Context(), rt, dir)
				if err != nil {
					return &exitError{code: exitFailed, err: err}
				}
				return env.newPrinter(f).PrintAnswer(m, "%d records are verified and in %s, up to %s", m.Records, args[0], m.Head)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "copy into a folder that tools reach, too")
	return cmd
}

func restoreCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "restore DIR",
		Short: "Bring a backup back as the state",
		Long: `Bring a backup back as the state of the configuration, which must have none: end
the server and move the old one away. The backup is verified first. What happened
after the backup is forgotten: tokens that were revoked since are valid again, sums and
rate limits count from the backup on. Held calls that waited or were approved then are
closed. The restore is recorded.`,
		Example: "  sallyport restore /mnt/elsewhere/2026-11-26",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForSecrets, func(rt *app.Runtime) error {
				m, err := backup.Restore(cmd.Context(), rt, fsx.Absolute(env.Dir, args[0]))
				if err != nil {
					return &exitError{code: exitFailed, err: err}
				}
				return env.newPrinter(f).PrintAnswer(m, "the state is that of %s, with %d records up to %s; revoke again what was revoked since",
					m.Created.Format("2006-01-02 15:04:05 MST"), m.Records, m.Head)
			})
		},
	}
}
