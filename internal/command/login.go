package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/callback"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

// loginWait bounds how long a user may take to consent.
const loginWait = 5 * time.Minute

// loginFlags holds the flags of login and logout.
type loginFlags struct {
	principal, personality string
	port                   int
}

func loginCommand(env *environment, f *flags) *cobra.Command {
	var l loginFlags
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in at a remote MCP server",
		Long: `Log in at a remote MCP server that requires OAuth. The command prints the address
of a page of the server's issuer. Open it in a browser on this machine and
consent there; the command starts no browser. It waits for the consent and keeps
the tokens, sealed, in the state.

The tokens are for one principal: the local user, or the one that --principal
names. The tokens of a shared server are for all principals. With --json the
command prints two lines: the page to open, and the result.`,
		Example: `  sallyport login github
  sallyport login github --principal ci-agent
  sallyport login github --port 8976    # for an issuer that wants the redirect URL http://127.0.0.1:8976/callback`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForCalls, func(rt *app.Runtime) error {
				return logIn(cmd.Context(), rt, env.newPrinter(f), args[0], &l)
			})
		},
	}
	cmd.Flags().StringVar(&l.principal, "principal", sallyport.LocalPrincipal, "the `NAME` of the principal whose calls use the tokens")
	cmd.Flags().StringVar(&l.personality, "personality", "", "the `ROLE` whose grant limits the login (default: the first that lists the server)")
	cmd.Flags().IntVar(&l.port, "port", 0, "wait for the browser at this `PORT` (default: any)")
	return cmd
}

func logoutCommand(env *environment, f *flags) *cobra.Command {
	var l loginFlags
	cmd := &cobra.Command{
		Use:   "logout SERVER",
		Short: "Remove the tokens of a remote MCP server",
		Long: `Remove the tokens of a principal at a remote MCP server from the state. If the
server's issuer accepts revocations, the command also asks it to revoke them. It
removes the tokens whatever the issuer answers, and prints what it did.`,
		Example: `  sallyport logout github
  sallyport logout github --principal ci-agent`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForCalls, func(rt *app.Runtime) error {
				return logOut(cmd.Context(), rt, env.newPrinter(f), args[0], l.principal)
			})
		},
	}
	cmd.Flags().StringVar(&l.principal, "principal", sallyport.LocalPrincipal, "the `NAME` of the principal whose calls used the tokens")
	return cmd
}

// logIn logs a user in at a server.
func logIn(ctx context.Context, rt *app.Runtime, p *report.Printer, name string, l *loginFlags) error {
	s, err := app.FindOAuthServer(rt.Deployment, name)
	if err != nil {
		return err
	}
	if rt.Passing {
		return errors.New("login: the state is memory, so the tokens would be lost when this command ends: write state: sqlite:PATH")
	}
	if held := rt.Servers.Pins.Servers[name]; held != nil && held.Why != "" {
		return fmt.Errorf("login %s: %s", name, held.Why)
	}
	if l.principal != sallyport.LocalPrincipal {
		if err := app.CheckPrincipal(ctx, rt, l.principal); err != nil {
			return err
		}
	}
	role, err := app.LoginRole(rt.Deployment, name, l.personality)
	if err != nil {
		return err
	}
	status, err := askConsent(ctx, rt, p, s, role, l)
	if err != nil {
		return err
	}
	return reportLogin(p, s, l.principal, &status)
}

// askConsent runs a login through the gate, in a role that may use the server. The
// requests of the login are decided and recorded like calls.
func askConsent(ctx context.Context, rt *app.Runtime, p *report.Printer, s *upstream.Server, role string, l *loginFlags) (status oauth.Status, err error) {
	back, err := callback.Listen(ctx, rt.Listeners, l.port)
	if err != nil {
		return status, err
	}
	defer back.Close()
	ask := func(ctx context.Context, what oauth.Consent) (url.Values, error) {
		if err := consentTo(p, s, l.principal, what, back.URL()); err != nil {
			return nil, err
		}
		return back.Await(ctx, what.State, loginWait)
	}
	tool, err := rt.Servers.Mounts.Login(s.Name, oauth.LoginOptions{Redirect: back.URL(), Ask: ask}, func(got oauth.Status) { status = got })
	if err == nil {
		err = rt.Servers.Finder.Register(tool)
	}
	if err != nil {
		return status, err
	}
	res := rt.CallFinder(ctx, role, tool.Name, argsOf(l.principal))
	if !res.OK {
		return status, fmt.Errorf("login %s: %s", s.Name, text.PrintableLine(res.Error))
	}
	return status, nil
}

// logOut removes tokens. It removes them first, so that neither a fault of the
// record nor an answer of the issuer keeps them.
func logOut(ctx context.Context, rt *app.Runtime, p *report.Printer, name, principal string) error {
	s, err := app.FindOAuthServer(rt.Deployment, name)
	if err != nil {
		return err
	}
	was, err := app.RemoveTokens(ctx, rt, s, principal)
	if err != nil {
		return err
	}
	out := map[string]any{"server": name, "principal": s.Holder(principal), "logged_out": was.LoggedIn}
	switch {
	case !was.LoggedIn && p.JSON:
		return p.PrintJSON(out)
	case !was.LoggedIn:
		p.PrintLine("%s was not logged in at %s", app.HolderName(s, principal), name)
		return nil
	}
	r := revokeTokens(ctx, rt, name, was)
	if p.JSON {
		out["revocation"] = r
		return p.PrintJSON(out)
	}
	p.PrintLine("logged out: %s has no tokens for %s any more", app.HolderName(s, principal), name)
	p.PrintLine("%s", r.Describe())
	return nil
}

// revokeTokens asks the issuer to revoke removed tokens, through the gate, in a role
// that may use the server.
func revokeTokens(ctx context.Context, rt *app.Runtime, name string, was oauth.Forgotten) report.Revocation {
	failed := func(err error) report.Revocation {
		return report.Revocation{Outcome: "failed", Error: text.PrintableLine(err.Error())}
	}
	role, err := app.LoginRole(rt.Deployment, name, "")
	if err != nil {
		return failed(err)
	}
	told := false
	tool, err := rt.Servers.Mounts.Logout(name, was, func(t bool) { told = t })
	if err == nil {
		err = rt.Servers.Finder.Register(tool)
	}
	if err != nil {
		return failed(err)
	}
	switch res := rt.CallFinder(ctx, role, tool.Name, nil); {
	case !res.OK:
		return failed(errors.New(res.Error))
	case told:
		return report.Revocation{Outcome: "revoked"}
	default:
		return report.Revocation{Outcome: "unsupported"}
	}
}
