package auth

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/sallyport/sallyport"
)

// Guard stands before every route of an HTTP surface. It refuses a request
// for another host, from another site, of another content type or without a
// token, in that order, before any handler sees it.
type Guard struct {
	tokens Tokens
	hosts  map[string]bool
	open   map[string]bool
}

// GuardOptions configure a Guard. nil means the defaults.
type GuardOptions struct {
	// Hosts lists further values of the Host header, with port, that mean
	// this server.
	Hosts []string
	// Open lists paths that need no token: health checks.
	Open []string
}

// NewGuard guards a server that listens at address, a host:port. A loopback
// address answers to its own name, localhost and the loopback literals at its
// port; any other address only to itself and o.Hosts.
func NewGuard(address string, tokens Tokens, o *GuardOptions) (*Guard, error) {
	if tokens == nil {
		return nil, errors.New("auth: a guard without tokens would let everybody in")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("auth: address %q: expected host:port: %w", address, err)
	}
	g := &Guard{tokens: tokens, hosts: map[string]bool{}, open: map[string]bool{}}
	g.admit(host, port)
	if Loopback(host) {
		for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
			g.admit(name, port)
		}
	}
	if o != nil {
		for _, h := range o.Hosts {
			g.hosts[strings.ToLower(h)] = true
		}
		for _, p := range o.Open {
			g.open[p] = true
		}
	}
	return g, nil
}

// admit adds the forms in which a Host header names this server: at port 80,
// the default of http, clients leave the port out.
func (g *Guard) admit(host, port string) {
	full := strings.ToLower(net.JoinHostPort(host, port))
	g.hosts[full] = true
	if port == "80" {
		g.hosts[strings.TrimSuffix(full, ":80")] = true
	}
}

// Loopback reports whether a host is this machine's loopback: the name
// localhost or a literal loopback address. Other names are not looked up.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

type principalKey struct{}

// PrincipalFrom returns the principal that a Guard let in. ok is false in a
// handler that no Guard protects.
func PrincipalFrom(ctx context.Context) (p sallyport.Principal, ok bool) {
	p, ok = ctx.Value(principalKey{}).(sallyport.Principal)
	return p, ok
}

// Protect wraps a handler. A refusal is 403 for host and site, 415 for the
// content type, 401 for the token.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, why := g.refuse(r); status != 0 {
			http.Error(w, why, status)
			return
		}
		if g.open[r.URL.Path] {
			next.ServeHTTP(w, r)
			return
		}
		token, ok := bearer(r.Header.Get("Authorization"))
		p, known := sallyport.Principal{}, false
		if ok {
			p, known = g.tokens.Principal(token)
		}
		if !known {
			w.Header().Set("WWW-Authenticate", `Bearer realm="sallyport"`)
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
			return
		}
		// The token goes no further: no handler can pass it on.
		r = r.WithContext(context.WithValue(r.Context(), principalKey{}, p))
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}

// refuse names the first thing wrong with where a request comes from or goes
// to; status 0 means nothing.
func (g *Guard) refuse(r *http.Request) (status int, why string) {
	if !g.hosts[strings.ToLower(r.Host)] {
		return http.StatusForbidden, "the Host header names another server"
	}
	if origin := r.Header.Values("Origin"); len(origin) > 0 && !g.ownOrigin(origin) {
		return http.StatusForbidden, "the request comes from another site"
	}
	// Browsers send this header and scripts cannot change it. A page of
	// another site that sends no Origin still says cross-site here.
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return http.StatusForbidden, "the request comes from another site"
	}
	if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return http.StatusUnsupportedMediaType, "the content type must be application/json"
		}
	}
	return 0, ""
}

func (g *Guard) ownOrigin(values []string) bool {
	if len(values) != 1 {
		return false
	}
	u, err := url.Parse(values[0])
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Path == "" && u.User == nil && g.hosts[strings.ToLower(u.Host)]
}
