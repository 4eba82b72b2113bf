package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/login"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/signin"
)

// defaultExpiry is the lifetime of a token when the user names none: a quarter
// of a year, so that a forgotten token ends by itself.
const defaultExpiry = "90d"

func principalsCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "principals",
		Short: "Manage who may call, and stop calls",
		Long: `Manage the principals: the names that may call. Change a principal of the
configuration there, and a principal of the state here. A token is printed once
and kept as a hash. Every change takes effect at once, also in a running server.`,
		Example: `  sallyport principals ls
  sallyport principals add ci-agent --permission http:read --expires 30d
  sallyport principals stop ci-agent --reason "leaked its token"`,
		RunE: groupCommand,
	}
	cmd.AddCommand(
		principalsLs(env, f), principalsAdd(env, f), principalsRotate(env, f), principalsRevoke(env, f),
		principalsStop(env, f), principalsStart(env, f), principalsForget(env, f),
	)
	return cmd
}

// withCallers opens the state without building the gate and runs a command on
// the principals and kill switches. Only a change creates a state file.
func withCallers(ctx context.Context, env *environment, f *flags, change bool, do func(rt *app.Runtime) error) error {
	open := func(ctx context.Context, e *app.Environment, paths []string) (*app.Runtime, error) {
		return app.OpenForAccess(ctx, e, paths, change)
	}
	return withRuntime(ctx, env, f, open, do)
}

// parseExpiry parses a day, a point in time, a lifetime, or never. The result
// is in the future.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	if s == report.NeverExpires {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, s)
	if err != nil {
		at, err = time.Parse(time.RFC3339, s)
	}
	if err != nil {
		var d time.Duration
		if d, err = config.ParseDuration(s); err != nil {
			return at, fmt.Errorf("--expires %q: expected a span (30d, 12h), a day (2027-01-01), a moment (RFC 3339) or %s", s, report.NeverExpires)
		}
		at = now.Add(d)
	}
	if !now.Before(at) {
		return at, fmt.Errorf("--expires %q is in the past", s)
	}
	return at, nil
}

func principalsAdd(env *environment, f *flags) *cobra.Command {
	var permissions, personalities []string
	var expires string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a principal and print its token once",
		Long: `Make a principal and print its token once: standard output has the token and
nothing else. The token is kept as a hash; to get another one, use rotate. A name
cannot be used again, because sessions and records belong to it.`,
		Example: `  sallyport principals add ci-agent --permission http:read --permission file:read
  TOKEN=$(sallyport principals add nightly --personality researcher --expires 2027-01-01)`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := parseExpiry(expires, time.Now())
			if err != nil {
				return err
			}
			return withCallers(cmd.Context(), env, f, true, func(rt *app.Runtime) error {
				roles, err := rolesOf(rt, permissions, personalities)
				if err != nil {
					return err
				}
				r := auth.Record{Name: args[0], Expires: at, Permissions: permissions, Personalities: roles}
				token, err := rt.Callers.Add(cmd.Context(), r)
				if err == nil {
					err = rt.RecordDone(cmd.Context(), app.ChangeEvent(audit.ActionAdd, r.Name, describeRecord(&r)), app.TokenWithheld)
				}
				if err != nil {
					return err
				}
				return printToken(env, f, &r, token)
			})
		},
	}
	cmd.Flags().StringArrayVar(&permissions, "permission", nil, "a `PERMISSION` in addition to the default ones; may be repeated")
	cmd.Flags().StringArrayVar(&personalities, "personality", nil, "a `ROLE` that it may take; may be repeated (default: the only role, or the one named default)")
	cmd.Flags().StringVar(&expires, "expires", defaultExpiry, "when the token ends: a span (30d), a day (2027-01-01), a moment (RFC 3339) or never")
	return cmd
}

// rolesOf returns the roles of a new principal: none for one that decides about held
// calls, since it calls no tool.
func rolesOf(rt *app.Runtime, permissions, personalities []string) ([]string, error) {
	if !slices.Contains(permissions, signin.PermissionDecide) {
		return app.RolesFor(rt, personalities)
	}
	if len(personalities) > 0 {
		return nil, fmt.Errorf("--permission %s: who decides about held calls calls no tool: leave out --personality", signin.PermissionDecide)
	}
	return []string{}, nil
}

// printToken prints a new token. It is shown only this once.
func printToken(env *environment, f *flags, r *auth.Record, token string) error {
	p := env.newPrinter(f)
	if p.JSON {
		return p.PrintJSON(map[string]any{
			"name": r.Name, "token": token, "expires": report.FormatExpiry(r.Expires),
			"permissions": append([]string{}, r.Permissions...), "personalities": append([]string{}, r.Personalities...),
		})
	}
	p.PrintLine("%s", token)
	fmt.Fprintf(env.Stderr, "sallyport: this is the token of %s. It is printed only now and kept as a hash. It ends: %s\n", r.Name, report.FormatExpiry(r.Expires))
	return nil
}

func principalsRotate(env *environment, f *flags) *cobra.Command {
	var expires string
	cmd := &cobra.Command{
		Use:     "rotate NAME",
		Short:   "Give a principal a new token and end the old one at once",
		Example: "  sallyport principals rotate ci-agent --expires 30d",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var at time.Time
			var err error
			if expires == report.NeverExpires {
				return errors.New("--expires never: a rotation must set an end; to get a token without an end, add a principal")
			}
			if expires != "" {
				if at, err = parseExpiry(expires, time.Now()); err != nil {
					return err
				}
			}
			return withCallers(cmd.Context(), env, f, true, func(rt *app.Runtime) error {
				token, err := rt.Callers.Rotate(cmd.Context(), args[0], at)
				if err != nil {
					return app.SuggestPrincipal(cmd.Context(), rt, args[0], err)
				}
				e, err := app.FindEntry(cmd.Context(), rt, args[0])
				if err == nil {
					err = rt.RecordDone(cmd.Context(), app.ChangeEvent(audit.ActionRotate, e.Name, describeRecord(&e.Record)), app.TokenWithheld)
				}
				if err != nil {
					return err
				}
				return printToken(env, f, &e.Record, token)
			})
		},
	}
	cmd.Flags().StringVar(&expires, "expires", "", "when the new token ends: a span (30d), a day (2027-01-01) or a moment (default: as before)")
	return cmd
}

func principalsRevoke(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME",
		Short: "End a principal at once and for good",
		Long: `End a principal at once and for good, with its logins at remote MCP servers. Its
name cannot be used again. To end a principal of the configuration, log out each
of its logins and then remove it there; stop ends its calls until then.`,
		Example: "  sallyport principals revoke ci-agent",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withCallers(cmd.Context(), env, f, true, func(rt *app.Runtime) error {
				if err := rt.Callers.Revoke(cmd.Context(), args[0]); err != nil {
					return app.SuggestPrincipal(cmd.Context(), rt, args[0], err)
				}
				err := rt.RecordDone(cmd.Context(), app.ChangeEvent(audit.ActionRevoke, args[0], ""), "")
				if err = errors.Join(err, rt.EndRules(cmd.Context(), args[0]), login.ForgetAll(cmd.Context(), rt, args[0])); err != nil {
					return err
				}
				return env.newPrinter(f).PrintAnswer(map[string]any{"name": args[0], "revoked": true},
					"%s is revoked", args[0])
			})
		},
	}
}
