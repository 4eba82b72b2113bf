package command

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/serving"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/report"
)

// defaultListen is the address at which serve listens when the user names none.
const defaultListen = "127.0.0.1:7331"

func serveCommand(env *environment, f *flags) *cobra.Command {
	o := serving.Options{Stdin: env.stdin, Stdout: env.stdout}
	var shadow string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tools over MCP and HTTP",
		Long: `Serve the tools over MCP: streamable HTTP at /mcp and the JSON API at /v1 with a
bearer token, or stdio with --stdio. The token of the local user is made at the
first start, printed once and kept as a hash; --new-token replaces it. Other
callers have their own tokens: see principals. A changed configuration takes
effect at once. If it has faults, the last good one stays in force.

With --shadow, a second configuration in the same folder is judged beside the one in
force: each call is decided again under it, after the answer, and what would have
been decided otherwise is recorded and counted. See shadow and promote.`,
		Example: `  sallyport serve
  sallyport serve --listen 127.0.0.1:8080 --personality researcher
  sallyport serve --shadow new.yaml
  sallyport serve --stdio`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return checkHosts(o.Hosts) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Stdio && cmd.Flags().Changed("listen") {
				return errors.New("serve: give --stdio or --listen, not both")
			}
			// A client that disconnects closes the pipe. Its calls still have
			// to be recorded; the signal would end the process first.
			signal.Ignore(syscall.SIGPIPE)
			env.Repeat = "" // it asks slow servers again itself
			open := func(ctx context.Context, e *app.Environment, paths []string) (*app.Runtime, error) {
				return app.OpenForServing(ctx, e, paths, shadow)
			}
			return withRuntime(cmd.Context(), env, f, open, func(rt *app.Runtime) error {
				o.Announce = func(role *sallyport.Personality, address, token string) error {
					return report.PrintAnnouncement(cmd.Context(), env.newPrinter(f), rt, role, address, token)
				}
				err := serving.Run(cmd.Context(), rt, &o)
				if errors.Is(err, syscall.EADDRINUSE) {
					return usageError(err) // it is no fault of the command line
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&o.Stdio, "stdio", false, "speak MCP over standard input and output")
	cmd.Flags().StringVar(&o.Listen, "listen", defaultListen, "listen at this `HOST:PORT`")
	cmd.Flags().StringArrayVar(&o.Hosts, "host", nil, "accept requests for this `HOST:PORT` too; may be repeated")
	cmd.Flags().StringVar(&o.Personality, "personality", "", "the `ROLE` of callers that may use it (default: the only role, or the one named default)")
	cmd.Flags().StringVar(&shadow, "shadow", "", "judge each call under this configuration `FILE` too, which decides nothing")
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "refuse to start when a tool does not fit its personality or an MCP server does not answer")
	cmd.Flags().BoolVar(&o.NewToken, "new-token", false, "replace the bearer token and print the new one")
	return cmd
}

// checkHosts refuses names that no request can carry.
func checkHosts(hosts []string) error {
	for _, h := range hosts {
		if p, err := reach.ParseHost(h); err != nil || strings.HasPrefix(p.String(), "*") {
			return fmt.Errorf("serve: --host %q: expected a name or an address, and a port unless it is 80 or 443", h)
		}
	}
	return nil
}
