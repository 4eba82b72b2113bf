package command

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/safekeeping"
	"github.com/sallyport/sallyport/internal/reach"
)

func secretsCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Store the values of secrets",
		Long: `Store the values of secrets in the encrypted file or the keychain that the
configuration names under secrets. No command prints a value.`,
		Example: `  sallyport secrets set providers/openweather/apiKey
  sallyport secrets ls`,
		RunE: groupCommand,
	}
	cmd.AddCommand(secretsSet(env, f), secretsLs(env, f), secretsRm(env, f))
	return cmd
}

func secretsSet(env *environment, f *flags) *cobra.Command {
	var choice safekeeping.Choice
	var seal string
	cmd := &cobra.Command{
		Use:   "set REF",
		Short: "Store the value of a secret",
		Long: `Store the value of a secret. The value comes from standard input, or is asked for
at the terminal and not shown. One line ending at its end is cut. It goes into the
first file or keychain under secrets of the configuration.

A new file is sealed to an identity, which is made in
$XDG_CONFIG_HOME/sallyport/identity when there is none. The identity may be kept in
the keychain instead, or the file be sealed by a passphrase.`,
		Example: `  sallyport secrets set providers/openweather/apiKey
  op read op://work/openweather/key | sallyport secrets set providers/openweather/apiKey
  sallyport secrets set db/analytics --identity passphrase`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			choice.Seal = app.SealKind(seal)
			return withRuntime(cmd.Context(), env, f, app.OpenForSecrets, func(rt *app.Runtime) error {
				place, err := safekeeping.FindStore(rt, choice)
				if err != nil {
					return err
				}
				if err := reach.CheckRef(args[0]); err != nil {
					return err
				}
				value, err := safekeeping.ReadValue(cmd.Context(), env.stdin, env.Stderr, args[0])
				if err != nil {
					return err
				}
				stored, err := safekeeping.SetSecret(cmd.Context(), rt, place, args[0], value)
				if err != nil {
					return err
				}
				if stored.HiddenBy != "" {
					fmt.Fprintf(env.Stderr, "sallyport: warning: the %s is asked first and has a value too\n", stored.HiddenBy)
				}
				return env.newPrinter(f).PrintAnswer(stored, "%s is in the %s", stored.Ref, stored.Source)
			})
		},
	}
	cmd.Flags().StringVar(&choice.Store, "store", "", "`KIND` of store: file or keychain (default: the first of the configuration)")
	cmd.Flags().StringVar(&seal, "identity", "", "what opens a new file: file, keychain or passphrase (default: file)")
	return cmd
}

func secretsLs(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List secrets, where each comes from and whether it resolves",
		Long: `List the secrets that tools, servers and connections name, and those of files and
folders, with the source that has each. A keychain is asked only for the secrets that
something names.`,
		Example: "  sallyport secrets ls",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForView, func(rt *app.Runtime) error {
				list, err := rt.ListSecrets(cmd.Context())
				if err != nil {
					return err
				}
				p := env.newPrinter(f)
				if p.JSON {
					return p.PrintJSON(map[string]any{"secrets": list})
				}
				rows := [][]string{{"REF", "SOURCE", "STATE", "NEEDED BY"}}
				for _, s := range list {
					rows = append(rows, []string{s.Ref, cmp.Or(s.Source, "-"), secretState(&s), cmp.Or(strings.Join(s.NeededBy, ", "), "-")})
				}
				p.PrintTable(rows)
				return nil
			})
		},
	}
}

// secretState says whether a secret resolves.
func secretState(s *app.SecretStatus) string {
	switch {
	case s.Found:
		return "found"
	case s.Why != "":
		return s.Why
	default:
		return "missing: " + s.Fix
	}
}

func secretsRm(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:     "rm REF",
		Short:   "Remove a secret from the file and the keychain",
		Example: "  sallyport secrets rm providers/openweather/apiKey",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForSecrets, func(rt *app.Runtime) error {
				from, err := safekeeping.RemoveSecret(cmd.Context(), rt, args[0])
				if err != nil {
					return err
				}
				return env.newPrinter(f).PrintAnswer(map[string]any{"ref": args[0], "removed_from": from},
					"%s is removed from the %s", args[0], strings.Join(from, " and the "))
			})
		},
	}
}
