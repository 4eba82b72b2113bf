package command

import (
	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/login"
	"github.com/sallyport/sallyport/internal/report"
)

func loginCommand(env *environment, f *flags) *cobra.Command {
	var r login.Request
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
				p := env.newPrinter(f)
				r.Server = args[0]
				got, err := login.LogIn(cmd.Context(), rt, &r, func(page *login.Page) error { return report.PrintConsent(p, page) })
				if err != nil {
					return err
				}
				return report.PrintLogin(p, got)
			})
		},
	}
	cmd.Flags().StringVar(&r.Principal, "principal", sallyport.LocalPrincipal, "the `NAME` of the principal whose calls use the tokens")
	cmd.Flags().StringVar(&r.Personality, "personality", "", "the `ROLE` whose grant limits the login (default: the first that lists the server)")
	cmd.Flags().IntVar(&r.Port, "port", 0, "wait for the browser at this `PORT` (default: any)")
	return cmd
}

func logoutCommand(env *environment, f *flags) *cobra.Command {
	var principal string
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
				end, err := login.LogOut(cmd.Context(), rt, args[0], principal)
				if err != nil {
					return err
				}
				return report.PrintLogout(env.newPrinter(f), end)
			})
		},
	}
	cmd.Flags().StringVar(&principal, "principal", sallyport.LocalPrincipal, "the `NAME` of the principal whose calls used the tokens")
	return cmd
}
