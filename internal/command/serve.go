package command

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/serving"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/registry"
)

// defaultListen is the address at which serve listens when the user names none.
const defaultListen = "127.0.0.1:7331"

// serveFlags holds the flags of serve.
type serveFlags struct {
	stdio, strict, newToken, json bool
	listen, personality, shadow   string
	hosts                         []string
}

func serveCommand(env *environment, f *flags) *cobra.Command {
	var s serveFlags
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
		PreRunE: func(*cobra.Command, []string) error { return checkHosts(s.hosts) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.stdio && cmd.Flags().Changed("listen") {
				return errors.New("serve: give --stdio or --listen, not both")
			}
			// A client that disconnects closes the pipe. Its calls still have
			// to be recorded; the signal would end the process first.
			signal.Ignore(syscall.SIGPIPE)
			s.json, env.Repeat = f.json, "" // it asks slow servers again itself
			open := func(ctx context.Context, e *app.Environment, paths []string) (*app.Runtime, error) {
				return app.OpenForServing(ctx, e, paths, s.shadow)
			}
			return withRuntime(cmd.Context(), env, f, open, func(rt *app.Runtime) error {
				return runServer(cmd.Context(), rt, env, &s)
			})
		},
	}
	cmd.Flags().BoolVar(&s.stdio, "stdio", false, "speak MCP over standard input and output")
	cmd.Flags().StringVar(&s.listen, "listen", defaultListen, "listen at this `HOST:PORT`")
	cmd.Flags().StringArrayVar(&s.hosts, "host", nil, "accept requests for this `HOST:PORT` too; may be repeated")
	cmd.Flags().StringVar(&s.personality, "personality", "", "the `ROLE` of callers that may use it (default: the only role, or the one named default)")
	cmd.Flags().StringVar(&s.shadow, "shadow", "", "judge each call under this configuration `FILE` too, which decides nothing")
	cmd.Flags().BoolVar(&s.strict, "strict", false, "refuse to start when a tool does not fit its personality or an MCP server does not answer")
	cmd.Flags().BoolVar(&s.newToken, "new-token", false, "replace the bearer token and print the new one")
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

func runServer(ctx context.Context, rt *app.Runtime, env *environment, s *serveFlags) error {
	role, err := rt.Config.Choose(s.personality)
	if err != nil {
		return err
	}
	for _, why := range rt.UnlockSecrets(ctx) {
		fmt.Fprintf(env.Stderr, "sallyport: warning: secrets: %s\n", why)
	}
	rt.DiscoverForServing(ctx, role.Name)
	rt.PrintWarnings(env.Stderr)
	misfits := app.CollectMisfits(rt)
	for _, m := range misfits {
		fmt.Fprintf(env.Stderr, "sallyport: warning: misfit %s\n", m)
	}
	// A path that a link withholds must not stop a start: an agent may have
	// made the link.
	if s.strict && slices.ContainsFunc(misfits, func(m registry.Fault) bool { return !m.Linked }) {
		return errors.New("serve --strict: the tools above do not fit; sallyport check shows the rules and the fixes")
	}
	if failed := rt.Servers.Failed(); s.strict && len(failed) > 0 {
		return fmt.Errorf("serve --strict: these MCP servers do not answer or differ from their pins: %s", strings.Join(failed, ", "))
	}
	rt.ListServer()
	rt.Children.KeepWarm(app.WarmHelpers)
	l := app.NewLive(rt.Deployment)
	rt.Live.Store(l)
	server, err := gateway.New(l, &gateway.Options{
		Personality: role.Name, Version: app.Version(), Logger: rt.Logger, Principal: rt.Callers.Local, Desk: rt.ApprovalDesk(),
	})
	if err != nil {
		return err
	}
	l.SetListener(server.ListChanged)
	stopShadow, err := rt.StartShadow(ctx)
	if err != nil {
		return err
	}
	defer stopShadow()
	renewing, stop := context.WithCancel(ctx)
	var renewal sync.WaitGroup
	renewal.Go(func() { rt.RenewPlaces(renewing, l) })
	defer renewal.Wait()
	defer stop()
	if s.stdio {
		defer rt.FollowConfig(ctx, l, role.Name)()
		return server.Stdio(ctx, env.stdin, env.stdout)
	}
	return serveOverHTTP(ctx, rt, env, s, role, l, server)
}

// serveOverHTTP listens, prints how to connect, and serves until the context ends.
// Calls that run at that time finish or are cancelled, and are recorded either
// way.
func serveOverHTTP(ctx context.Context, rt *app.Runtime, env *environment, s *serveFlags, role *sallyport.Personality, l *app.Live, server *gateway.Server) error {
	if err := auth.CheckExposure(s.listen, rt.Config.Security.RequireAuth); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	api, err := serving.NewAPI(rt, l, role.Name)
	if err != nil {
		return err
	}
	mux, err := serving.NewMux(api, server, l.ProtectedResource())
	if err != nil {
		return err
	}
	listener, err := rt.Listeners.Open(ctx, s.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	fail := func(err error) error { return errors.Join(err, listener.Close()) }
	address := listener.Addr().String()
	// Check a host name by the address to which it resolved.
	if err := auth.CheckExposure(address, rt.Config.Security.RequireAuth); err != nil {
		return fail(err)
	}
	guard, err := serving.NewGuard(ctx, rt, address, s.hosts, mux, l)
	if err != nil {
		return fail(err)
	}
	// Create the token last: if a later step failed, the token would never be
	// shown.
	token, err := app.LocalToken(ctx, rt, s.newToken)
	if err != nil {
		return fail(err)
	}
	p := &report.Printer{W: env.stdout, Colour: env.colour, JSON: s.json}
	if err := report.PrintAnnouncement(p, rt, role, address, token); err != nil {
		return fail(err)
	}
	defer rt.FollowConfig(ctx, l, role.Name)()
	return serving.ServeUntilDone(ctx, serving.NewListener(listener, rt.Logger), guard, mux, func(ctx context.Context) error {
		return errors.Join(server.Shutdown(ctx), api.Shutdown(ctx))
	})
}
