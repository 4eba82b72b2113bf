package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/app"
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
		Long: `Log in at a remote MCP server that wants OAuth. The command prints the page of
the server's issuer, waits until a person has consented there in a browser on
this machine, and keeps the tokens, sealed, in the state. It starts no browser.
Tokens are for one principal, the local user unless another is named, or for
everybody where the server is shared. With --json it prints two lines: what to
open, and what came of it.`,
		Example: `  sallyport login github
  sallyport login github --principal ci-agent
  sallyport login github --port 8976    # for an issuer that wants the redirect URL http://127.0.0.1:8976/callback`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			rt, err := openGate(cmd.Context(), env, f)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, rt.Close()) }()
			return logIn(cmd.Context(), rt, env.newPrinter(f), args[0], &l)
		},
	}
	cmd.Flags().StringVar(&l.principal, "principal", sallyport.LocalPrincipal, "the `NAME` of whose calls use the tokens")
	cmd.Flags().StringVar(&l.personality, "personality", "", "the `ROLE` whose grant the login keeps to (default: the first that lists the server)")
	cmd.Flags().IntVar(&l.port, "port", 0, "the `PORT` at which to wait for the browser (default: any)")
	return cmd
}

func logoutCommand(env *environment, f *flags) *cobra.Command {
	var l loginFlags
	cmd := &cobra.Command{
		Use:   "logout SERVER",
		Short: "Remove the tokens of a remote MCP server",
		Long: `Remove the tokens of a principal at a remote MCP server from the state, and
have the server's issuer revoke them where it takes revocations. They are
removed whatever the issuer answers, and the command says what it did.`,
		Example: `  sallyport logout github
  sallyport logout github --principal ci-agent`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			rt, err := openGate(cmd.Context(), env, f)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, rt.Close()) }()
			return logOut(cmd.Context(), rt, env.newPrinter(f), args[0], l.principal)
		},
	}
	cmd.Flags().StringVar(&l.principal, "principal", sallyport.LocalPrincipal, "the `NAME` of whose calls used the tokens")
	return cmd
}

// findOAuthServer returns a declared server that uses OAuth.
func findOAuthServer(t *app.Deployment, name string) (*upstream.Server, error) {
	var known []string
	for i := range t.Servers.Declared {
		s := &t.Servers.Declared[i]
		switch {
		case s.OAuth != nil && s.Name == name:
			return s, nil
		case s.Name == name:
			return nil, fmt.Errorf("%s has no oauth in mcp_servers: a login is not needed there", name)
		case s.OAuth != nil:
			known = append(known, s.Name)
		}
	}
	return nil, unknownName("server with oauth", name, known)
}

// loginRole returns the role whose grant bounds a login.
func loginRole(t *app.Deployment, server, asked string) (string, error) {
	roles := t.RolesWith(server)
	switch {
	case len(roles) == 0:
		return "", fmt.Errorf("no personality lists %s in mcp_servers, so that no caller can use it", server)
	case asked == "":
		return roles[0], nil
	case !slices.Contains(roles, asked):
		return "", fmt.Errorf("--personality %s: expected one that lists %s in mcp_servers: %s", asked, server, strings.Join(roles, ", "))
	default:
		return asked, nil
	}
}

// logIn logs a user in at a server.
func logIn(ctx context.Context, rt *app.Runtime, p *printer, name string, l *loginFlags) error {
	s, err := findOAuthServer(rt.Deployment, name)
	if err != nil {
		return usageError(err)
	}
	if rt.Passing {
		return usageError(errors.New("login: the state is memory, so that the tokens would end with this command: write state: sqlite:PATH"))
	}
	if held := rt.Servers.Pins.Servers[name]; held != nil && held.Why != "" {
		return usageError(fmt.Errorf("login %s: %s", name, held.Why))
	}
	if l.principal != sallyport.LocalPrincipal {
		if err := knownPrincipal(ctx, rt, l.principal); err != nil {
			return usageError(err)
		}
	}
	role, err := loginRole(rt.Deployment, name, l.personality)
	if err != nil {
		return usageError(err)
	}
	status, err := askConsent(ctx, rt, p, s, role, l)
	if err != nil {
		return err
	}
	return reportLogin(p, s, l.principal, &status)
}

// askConsent runs a login through the gate, in a role that may use the server. The
// requests of the login are decided and recorded like calls.
func askConsent(ctx context.Context, rt *app.Runtime, p *printer, s *upstream.Server, role string, l *loginFlags) (status oauth.Status, err error) {
	back, err := listenBack(ctx, l.port)
	if err != nil {
		return status, usageError(err)
	}
	defer back.close()
	ask := func(ctx context.Context, what oauth.Consent) (url.Values, error) {
		if err := consentTo(p, s, l.principal, what, back.callbackURL()); err != nil {
			return nil, err
		}
		return back.awaitAnswer(ctx, what.State, loginWait)
	}
	tool, err := rt.Servers.Mounts.Login(s.Name, oauth.LoginOptions{Redirect: back.callbackURL(), Ask: ask}, func(got oauth.Status) { status = got })
	if err == nil {
		err = rt.Servers.Finder.Register(tool)
	}
	if err != nil {
		return status, usageError(err)
	}
	res := rt.CallFinder(ctx, role, tool.Name, argsOf(l.principal))
	if !res.OK {
		return status, fmt.Errorf("login %s: %s", s.Name, text.PrintableLine(res.Error))
	}
	return status, nil
}

// logOut removes tokens. It removes them first, so that neither a fault of the
// record nor an answer of the issuer keeps them.
func logOut(ctx context.Context, rt *app.Runtime, p *printer, name, principal string) error {
	s, err := findOAuthServer(rt.Deployment, name)
	if err != nil {
		return usageError(err)
	}
	was, err := removeTokens(ctx, rt, s, principal)
	if err != nil {
		return usageError(err)
	}
	out := map[string]any{"server": name, "principal": s.Holder(principal), "logged_out": was.LoggedIn}
	switch {
	case !was.LoggedIn && p.json:
		return p.printJSON(out)
	case !was.LoggedIn:
		p.printLine("%s was not logged in at %s", holderName(s, principal), name)
		return nil
	}
	r := revokeTokens(ctx, rt, name, was)
	if p.json {
		out["revocation"] = r
		return p.printJSON(out)
	}
	p.printLine("logged out: %s has no tokens for %s any more", holderName(s, principal), name)
	p.printLine("%s", r.describeRevocation())
	return nil
}

// revocation is the result of asking an issuer to revoke tokens that are no
// longer used.
type revocation struct {
	// Outcome is revoked, unsupported or failed.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
}

// describeRevocation describes the result for a user.
func (r *revocation) describeRevocation() string {
	const there = "end the access there too if the tokens may have leaked"
	switch r.Outcome {
	case "revoked":
		return "its issuer has revoked them"
	case "unsupported":
		return "its issuer revokes no tokens: " + there
	default:
		return "its issuer has not revoked them: " + r.Error + ": " + there
	}
}

// revokeTokens asks the issuer to revoke removed tokens, through the gate, in a role
// that may use the server.
func revokeTokens(ctx context.Context, rt *app.Runtime, name string, was oauth.Forgotten) revocation {
	failed := func(err error) revocation {
		return revocation{Outcome: "failed", Error: text.PrintableLine(err.Error())}
	}
	role, err := loginRole(rt.Deployment, name, "")
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
		return revocation{Outcome: "revoked"}
	default:
		return revocation{Outcome: "unsupported"}
	}
}

// removeTokens removes the tokens of a principal at a server. It records the removal
// when there were any.
func removeTokens(ctx context.Context, rt *app.Runtime, s *upstream.Server, principal string) (oauth.Forgotten, error) {
	vault, err := rt.NewVault()
	if err != nil {
		return oauth.Forgotten{}, err
	}
	was, err := vault.Forget(ctx, s.OAuth, s.Holder(principal))
	if err != nil || !was.LoggedIn {
		return was, err
	}
	return was, rt.RecordDone(ctx, app.ChangeEvent(audit.ActionLogout, s.Name, "of "+holderName(s, principal)), "")
}

// forgetEverywhere removes the tokens that belong to a principal alone: the
// next principal with this name may be another person.
func forgetEverywhere(ctx context.Context, rt *app.Runtime, principal string) error {
	declared, err := app.DecodeServers(rt.Config, rt.Env.Home)
	if err != nil {
		return err
	}
	for i := range declared {
		if s := &declared[i]; s.OAuth != nil && !s.Shared {
			_, failed := removeTokens(ctx, rt, s, principal)
			err = errors.Join(err, failed)
		}
	}
	return err
}
