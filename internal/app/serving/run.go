package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/page"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/registry"
)

// Options say how the tools are served.
type Options struct {
	// Stdio speaks MCP over Stdin and Stdout, in place of HTTP at Listen.
	Stdio bool
	// Stdin receives what a client over stdio sends.
	Stdin io.ReadCloser
	// Stdout receives the answers to that client.
	Stdout io.WriteCloser
	// Listen is the address of the HTTP server, as HOST:PORT.
	Listen string
	// Hosts are further names by which clients may call the HTTP server.
	Hosts []string
	// Personality is the role of callers that name none; empty means the default one.
	Personality string
	// Strict refuses to start when a tool does not fit its personality or an MCP
	// server does not answer.
	Strict bool
	// NewToken replaces the bearer token of the local user.
	NewToken bool
	// Announce says at which address the HTTP server listens, before it answers. The
	// token is empty unless this start made it.
	Announce func(role *sallyport.Personality, address, token string) error
}

// warmDelay is how long after its start a server begins to keep helpers of children warm:
// its first answers do not share the processors with them.
const warmDelay = 2 * time.Second

// Run serves the tools of a runtime until the context ends or the client on
// standard input goes.
func Run(ctx context.Context, rt *app.Runtime, o *Options) error {
	role, err := rt.InForce().Config.Choose(o.Personality)
	if err != nil {
		return err
	}
	for _, why := range rt.UnlockSecrets(ctx) {
		fmt.Fprintf(rt.Env.Stderr, "sallyport: warning: secrets: %s\n", why)
	}
	rt.InForce().DiscoverForServing(ctx, role.Name)
	rt.InForce().PrintWarnings(rt.Env.Stderr)
	misfits := app.CollectMisfits(rt)
	for _, m := range misfits {
		fmt.Fprintf(rt.Env.Stderr, "sallyport: warning: misfit %s\n", m)
	}
	// A path that a link withholds must not stop a start: an agent may have
	// made the link.
	if o.Strict && slices.ContainsFunc(misfits, func(m registry.Fault) bool { return !m.Linked }) {
		return errors.New("serve --strict: the tools above do not fit; sallyport check shows the rules and the fixes")
	}
	if failed := rt.InForce().Servers.Failed(); o.Strict && len(failed) > 0 {
		return fmt.Errorf("serve --strict: these MCP servers do not answer or differ from their pins: %s", strings.Join(failed, ", "))
	}
	rt.ListServer()
	defer time.AfterFunc(warmDelay, func() { rt.Children.KeepWarm(app.WarmHelpers) }).Stop()
	l := app.NewLive(rt)
	rt.Live.Store(l)
	server, err := gateway.New(l, &gateway.Options{
		Personality: role.Name, Version: app.Version(), Logger: rt.Logger, Principal: rt.Callers.Local, Desk: rt.ApprovalDesk(), Files: rt.Shelf, Traced: rt.Traces() != nil,
	})
	if err != nil {
		return err
	}
	l.SetListener(server.ListChanged)
	stopAnchors, err := rt.StartAnchors(ctx)
	if err != nil {
		return err
	}
	defer stopAnchors() // after everything that is recorded
	defer rt.StopTelemetry()
	stopPush, err := rt.StartPush(ctx)
	if err != nil {
		return err
	}
	defer stopPush()
	stopShadow, err := rt.StartShadow(ctx)
	if err != nil {
		return err
	}
	defer stopShadow()
	defer rt.StartNotices(report.EscapeControls)()
	stopMetrics, err := serveMetrics(ctx, rt)
	if err != nil {
		return err
	}
	defer stopMetrics()
	renewing, stop := context.WithCancel(ctx)
	var renewal sync.WaitGroup
	renewal.Go(func() { rt.RenewPlaces(renewing, l) })
	defer renewal.Wait()
	defer stop()
	if o.Stdio {
		defer rt.FollowConfig(ctx, l, role.Name)()
		rt.AnnounceWaiting(ctx)
		return server.Stdio(ctx, o.Stdin, o.Stdout)
	}
	return serveOverHTTP(ctx, rt, o, role, l, server)
}

// serveOverHTTP listens, announces it, and serves until the context ends.
// Calls that run at that time finish or are cancelled, and are recorded either
// way.
func serveOverHTTP(ctx context.Context, rt *app.Runtime, o *Options, role *sallyport.Personality, l *app.Live, server *gateway.Server) error {
	if err := auth.CheckExposure(o.Listen, rt.InForce().Config.Security.RequireAuth); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	files, err := openCertificates(rt.InForce().Config.TLS, rt.Logger)
	if err != nil {
		return err
	}
	api, err := NewAPI(rt, l, role.Name)
	if err != nil {
		return err
	}
	site, err := page.New(rt, l)
	if err != nil {
		return err
	}
	mux, err := NewMux(api, server, site, l.ProtectedResource(), rt.Metrics)
	if err != nil {
		return err
	}
	listener, err := openListener(ctx, rt, o.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	fail := func(err error) error { return errors.Join(err, listener.Close()) }
	address := listener.Addr().String()
	// Check a host name by the address to which it resolved.
	if err := auth.CheckExposure(address, rt.InForce().Config.Security.RequireAuth); err != nil {
		return fail(err)
	}
	guard, err := NewGuard(ctx, rt, address, o.Hosts, mux, site, l, files)
	if err != nil {
		return fail(err)
	}
	stopPage, err := page.Announce(ctx, rt, report.ReachableAddress(address))
	if err != nil {
		return fail(err)
	}
	defer stopPage()
	// Create the token last: if a later step failed, the token would never be
	// shown.
	token, err := app.LocalToken(ctx, rt, o.NewToken)
	if err != nil {
		return fail(err)
	}
	if err := o.Announce(role, address, token); err != nil {
		return fail(err)
	}
	defer rt.FollowConfig(ctx, l, role.Name)()
	rt.AnnounceWaiting(ctx) // with links to the page, whose address is known now
	// The socket takes connections from here on.
	notifySystemd(ctx, rt, stateReady)
	return serveUntilDone(ctx, rt, newListener(listener, rt.Logger), guard, files, mux, func(ctx context.Context) error {
		return errors.Join(site.Shutdown(ctx), server.Shutdown(ctx), api.Shutdown(ctx))
	})
}
