// Package serving is the program as a server, over standard input and output and
// over HTTP: what it answers, whom it admits, and how it ends.
//
// Start with [Run].
package serving

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/listening"
	"github.com/sallyport/sallyport/internal/metrics"
	"github.com/sallyport/sallyport/internal/page"
)

// Bounds of the HTTP server. The time of a response has no bound of its own,
// because a tool call may take minutes: the deadline of the call bounds it.
const (
	bodyTimeout = 60 * time.Second
	idleTimeout = 2 * time.Minute
	// ShutdownTimeout bounds the end of the server. Calls have finishTimeout to
	// finish; those that are cancelled then have the rest to be answered.
	ShutdownTimeout = 15 * time.Second
	finishTimeout   = 10 * time.Second
)

// NewMux returns the handler of everything that the server answers: nothing else
// has a handler.
func NewMux(api *httpapi.Server, server *gateway.Server, site *page.Site, resource *auth.Resource, counts *metrics.Metrics) (*httpapi.Mux, error) {
	routes := append(append(api.Routes(), site.Routes()...), httpapi.Route{
		Pattern: resource.Path, Auth: true, Content: httpapi.ContentJSON,
		Doc: "Model Context Protocol, streamable HTTP.", Handler: server.Handler(),
	})
	routes = append(routes, metricsRoute(counts))
	for _, path := range []string{auth.MetadataPath, auth.MetadataPath + resource.Path} {
		routes = append(routes, httpapi.Route{
			Method: http.MethodGet, Pattern: path,
			Doc: "Whose tokens open " + resource.Path + " (RFC 9728).", Handler: resource,
		})
	}
	return httpapi.NewMux(routes)
}

// NewAPI returns the JSON API over the registry in force, with the role of
// callers that name none.
func NewAPI(rt *app.Runtime, l *app.Live, role string) (*httpapi.Server, error) {
	return httpapi.New(l, &httpapi.Options{
		Personality: role, Version: app.Version(), Logger: rt.Logger, Uploads: rt.Uploads.AddUpload, Shelf: rt.Shelf,
		Ready: rt.NewReadiness().CheckFresh, Dashboard: &rt.Dashboard,
	})
}

// NewGuard admits requests with a token of the state, of the configuration, or of
// the provider that the configuration names. The hosts are further names by
// which clients may call the server. Files are those of TLS; nil without it.
func NewGuard(ctx context.Context, rt *app.Runtime, address string, hosts []string, mux *httpapi.Mux, site *page.Site, l *app.Live, files *certificates) (*auth.Guard, error) {
	tokens := auth.Chain(rt.Callers, rt.SubAgents())
	if o := rt.InForce().Config.Security.OIDC; o != nil {
		provider, err := auth.NewOIDC(ctx, auth.OIDCOptions{
			Issuer: o.Issuer, Audience: o.Audience, PermissionsClaim: o.PermissionsClaim, PrincipalClaim: o.PrincipalClaim,
			Algorithms: o.Algorithms, DefaultPermissions: rt.Callers.DefaultPermissions,
			Personalities: l.IssuerRoles, Logger: rt.Logger,
		})
		if err != nil {
			return nil, err
		}
		tokens = auth.Chain(tokens, l.IssuerTokens(provider, rt.Callers))
	}
	if err := site.AddIssuer(ctx); err != nil {
		return nil, err
	}
	o := &auth.GuardOptions{
		Hosts: hosts, Open: mux.Open(), Multipart: mux.Multipart, Refuse: httpapi.Refuse, Logger: rt.Logger,
		Resource: l.ProtectedResource(),
		Pages:    page.Covers, Cookie: page.Cookie, People: site.People(), SignIn: site.SignIn(), Returns: page.Returns,
		Stands: func(ctx context.Context, p *sallyport.Principal) (bool, error) {
			kind, _, err := rt.Switches.Stopped(ctx, p.Name, "", "")
			return kind == "", err
		},
	}
	if files != nil && files.c.ClientCA != "" {
		o.Certificate = files.findPrincipal(rt.Callers)
	}
	if !rt.InForce().Config.Security.RequireAuth {
		// Who comes without a token over HTTP is no person: it may be an agent.
		o.Anonymous = func() sallyport.Principal {
			p := rt.Callers.Local()
			p.Person = false
			return p
		}
	}
	return auth.NewGuard(address, tokens, o)
}

// serveUntilDone serves until the context ends, then waits for the running calls. It
// calls finish to end the sessions: a stream on which a client listens is a
// request that does not end by itself.
func serveUntilDone(ctx context.Context, rt *app.Runtime, l net.Listener, guard *auth.Guard, files *certificates, h http.Handler, finish func(context.Context) error) error {
	c := connectionBounds()
	server := &http.Server{
		Handler: listening.KeepAnswers(c.Attend(logRequests(rt.Logger, rt.Metrics, rt.Traces() != nil, guard.Protect(notePrincipal(admitConnections(c, h)))))), ConnContext: c.Context,
		ReadHeaderTimeout: listening.HeaderTimeout, ReadTimeout: bodyTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: listening.MaxHeaderBytes,
		// Requests live as long as the server: the end of the context shuts the
		// server down in order instead of cutting every call.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
	}
	serve := server.Serve
	if files != nil {
		server.TLSConfig = files.tlsConfig()
		server.ErrorLog = slog.NewLogLogger(rt.Logger.Handler(), slog.LevelDebug) // what clients do wrong at a handshake
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(c.Listener(l)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	notifySystemd(context.WithoutCancel(ctx), rt, stateStopping)
	server.RegisterOnShutdown(func() {
		calls, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
		defer cancel()
		// The error reports cancelled calls, and so do their records.
		_ = finish(calls)
	})
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownTimeout)
	defer cancel()
	err := server.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-ended
	return err
}
