package serving

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/net/netutil"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/listening"
	"github.com/sallyport/sallyport/internal/metrics"
)

const (
	// metricsPath is where metrics are, on both listeners.
	metricsPath = "/metrics"
	// maxMetricsConns bounds the connections of the listener for metrics.
	maxMetricsConns = 16
	// metricsWait bounds a request to it, and its end.
	metricsWait = 10 * time.Second
)

// metricsRoute serves the metrics to principals that hold the permission.
func metricsRoute(m *metrics.Metrics) httpapi.Route {
	h := m.Handler()
	return httpapi.Route{
		Method: http.MethodGet, Pattern: metricsPath, Auth: true, Doc: "Metrics for Prometheus, for principals with the permission " + metrics.Permission + ".",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if p, ok := auth.PrincipalFrom(r.Context()); !ok || p.Delegation != "" || !slices.Contains(p.Permissions, metrics.Permission) {
				httpapi.Refuse(w, http.StatusForbidden, "the permission "+metrics.Permission+" is needed")
				return
			}
			h.ServeHTTP(w, r)
		}),
	}
}

// serveMetrics serves the metrics at the address that the configuration names, without
// a token; without one it does nothing. The function that it returns ends that.
func serveMetrics(ctx context.Context, rt *app.Runtime) (stop func(), err error) {
	address := rt.InForce().Config.Metrics.Listen
	if address == "" {
		return func() {}, nil
	}
	listener, err := rt.Listeners.Open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("metrics.listen: %w", err)
	}
	own := listener.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, onlyHere(rt.Metrics.Handler()))
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: metricsWait, ReadTimeout: metricsWait, WriteTimeout: metricsWait, IdleTimeout: time.Minute,
		MaxHeaderBytes: listening.MaxHeaderBytes, BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	go func() {
		if err := server.Serve(netutil.LimitListener(newListener(listener, rt.Logger), maxMetricsConns)); err != http.ErrServerClosed {
			rt.Logger.Error("metrics are not served any more", "address", own, "error", err)
		}
	}()
	fmt.Fprintf(rt.Env.Stderr, "sallyport: metrics at http://%s%s\n", own, metricsPath)
	// Who scrapes does not keep the server from ending.
	return func() { _ = server.Close() }, nil
}

// onlyHere refuses requests for another host and from pages: a page that a browser of
// this machine shows could read the metrics under a name that leads here.
func onlyHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !auth.Loopback(host) || len(r.Header.Values("Origin")) > 0 || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
			http.Error(w, "the request comes from another site", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
