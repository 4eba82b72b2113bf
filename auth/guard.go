package auth

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
)

// Guard stands before every route of an HTTP surface. It refuses a request
// for another host, from another site, of another content type or without a
// token, in that order, before any handler sees it.
type Guard struct {
	tokens    Tokens
	hosts     map[string]bool
	every     bool // listens at every address of the machine
	open      map[string]bool
	logger    *slog.Logger
	multipart func(*http.Request) bool
	answer    func(w http.ResponseWriter, status int, why string)
	anonymous func() sallyport.Principal
	resource  *Resource
	pages     *guardedPages
	certified func(ctx context.Context, chain []*x509.Certificate) (sallyport.Principal, bool, error)
	pause     time.Duration
	stands    func(ctx context.Context, p *sallyport.Principal) (bool, error)
}

// GuardOptions configure a Guard. nil means the defaults.
type GuardOptions struct {
	// Hosts lists further values of the Host header, with port, that mean
	// this server.
	Hosts []string
	// Open lists paths that need no token: health checks.
	Open []string
	// Logger receives why a token could not be checked; nil discards it.
	Logger *slog.Logger
	// Multipart reports whether a request may bring files, as
	// multipart/form-data instead of JSON; nil means that none may.
	Multipart func(r *http.Request) bool
	// Refuse answers a request that is refused; nil answers in plain text.
	Refuse func(w http.ResponseWriter, status int, why string)
	// Anonymous says who a request without an Authorization header is; nil
	// refuses it. It is asked at each request, so that what the principal
	// may do is what it may do now. A token that is brought along is checked
	// all the same. It is refused for an address, and with Hosts, that others
	// can reach, and a request that a proxy passed on needs a token.
	Anonymous func() sallyport.Principal
	// Pause is how often the token of a request that is being answered is looked
	// at; 0 means 250 ms.
	Pause time.Duration
	// Stands reports whether a principal whose token counts may go on listening:
	// it is asked while a request is answered. An error means that this is not
	// known, which ends the request when it lasts. nil lets every request go on. It
	// is not asked about pages: People says alone who goes on looking at one.
	Stands func(ctx context.Context, p *sallyport.Principal) (bool, error)
	// Pages reports whether a request is for a page that people look at in a
	// browser. Only the sign-in in its cookie lets it in, never a token or
	// Anonymous, and in place of JSON it may bring a form, with its Origin. nil
	// means that none is.
	Pages func(r *http.Request) bool
	// Cookie is the name of that cookie, and People says whose sign-in it holds.
	// Both are required with Pages.
	Cookie string
	// People finds who is signed in.
	People Tokens
	// SignIn answers a request for a page without a good sign-in; nil refuses it
	// like any other.
	SignIn http.Handler
	// Returns reports whether a request for a page is one to which a login at
	// another site leads back: a browser may open it from there, in its own window.
	// nil means that none is.
	Returns func(r *http.Request) bool
	// Certificate returns whose a client certificate is that a request without an
	// Authorization header came with; ok is false for no principal's. The chain is
	// what the client sent, its own certificate first, and was verified when the
	// connection was made, which may be long ago. nil believes no certificate. It is
	// asked again while a request is answered.
	Certificate func(ctx context.Context, chain []*x509.Certificate) (p sallyport.Principal, ok bool, err error)
	// Resource is named to a request to its path without a good token, so that
	// a client finds out where tokens come from; nil names nothing.
	Resource *Resource
}

// NewGuard guards a server that listens at address, a host:port. A loopback
// address answers to its own name, localhost and the loopback literals at its
// port; one that stands for every address of the machine to localhost, to the
// address at which a connection arrived, and to o.Hosts; any other address
// only to itself and o.Hosts.
func NewGuard(address string, tokens Tokens, o *GuardOptions) (*Guard, error) {
	if tokens == nil {
		return nil, errors.New("auth: a guard without tokens would let everybody in")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("auth: address %q: expected host:port: %w", address, err)
	}
	g := &Guard{
		tokens: tokens, hosts: map[string]bool{}, open: map[string]bool{}, logger: slog.New(slog.DiscardHandler),
		multipart: func(*http.Request) bool { return false },
		pause:     defaultStandingPause,
		stands:    func(context.Context, *sallyport.Principal) (bool, error) { return true, nil },
		answer:    func(w http.ResponseWriter, status int, why string) { http.Error(w, why, status) },
	}
	ip := net.ParseIP(host)
	if g.every = host == "" || ip != nil && ip.IsUnspecified(); g.every {
		// Browsers take 0.0.0.0 for this machine, but it names no host.
		g.allowHost("localhost", port)
	} else {
		g.allowHost(host, port)
	}
	if Loopback(host) {
		for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
			g.allowHost(name, port)
		}
	}
	if o != nil {
		for _, h := range o.Hosts {
			g.hosts[strings.ToLower(h)] = true
		}
		for _, p := range o.Open {
			g.open[p] = true
		}
		if o.Logger != nil {
			g.logger = o.Logger
		}
		if o.Multipart != nil {
			g.multipart = o.Multipart
		}
		if o.Refuse != nil {
			g.answer = o.Refuse
		}
		g.resource, g.certified = o.Resource, o.Certificate
		if g.pages, err = o.newPages(); err != nil {
			return nil, err
		}
		g.pause = cmp.Or(o.Pause, g.pause)
		if o.Stands != nil {
			g.stands = o.Stands
		}
		if o.Anonymous != nil {
			// A further name is one by which others come, through a proxy.
			for _, reached := range append([]string{address}, o.Hosts...) {
				if err := CheckExposure(reached, false); err != nil {
					return nil, err
				}
			}
			g.anonymous = o.Anonymous
		}
	}
	return g, nil
}

// allowHost adds the forms in which a Host header names this server: at port
// 80, the default of http, clients leave the port out.
func (g *Guard) allowHost(host, port string) {
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
// content type, 401 for the token, 503 when the token cannot be checked.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, why := g.refusalOf(r); status != 0 {
			g.logRefusal(r, status, why)
			g.answer(w, status, why)
			return
		}
		if g.open[r.URL.Path] {
			next.ServeHTTP(w, r)
			return
		}
		again, why := g.newPrincipalCheck(r), &refusal{}
		p, status := again(context.WithValue(r.Context(), refusedKey{}, why))
		switch status {
		case 0:
		case http.StatusUnauthorized:
			signsIn := g.pages.hasRequest(r) && g.pages.signIn != nil
			if !signsIn || g.pages.hasLogin(r) { // a person who is not signed in yet tried nothing
				g.logRefusal(r, status, why.describeReason())
			}
			if signsIn {
				g.pages.signIn.ServeHTTP(w, r)
				return
			}
			w.Header().Set("WWW-Authenticate", g.resource.challengeFor(r))
			g.answer(w, status, "a bearer token is required")
			return
		default:
			g.answer(w, status, "the token cannot be checked now")
			return
		}
		// The token goes no further: no handler can pass it on.
		r.Header.Del("Authorization")
		r, end := g.watchRequest(r, p, again)
		defer end()
		next.ServeHTTP(w, r)
	})
}

// newPrincipalCheck returns the check of a request's principal, which may be
// repeated when the handler has no header any more. Why a token could not be
// checked is the operator's to know, not the caller's.
func (g *Guard) newPrincipalCheck(r *http.Request) principalCheck {
	if g.pages.hasRequest(r) {
		return g.newTokenCheck(g.pages.people, g.pages.tokenOf(r), "the request has no login of the page")
	}
	values := r.Header.Values("Authorization")
	if len(values) == 0 && g.certified != nil && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return func(ctx context.Context) (sallyport.Principal, int) {
			p, known, err := g.certified(ctx, r.TLS.PeerCertificates)
			if !known && err == nil {
				noteRefusal(ctx, "no principal has the certificate of "+r.TLS.PeerCertificates[0].Subject.CommonName)
			}
			return g.statusOf(p, known, err)
		}
	}
	if len(values) == 0 && g.anonymous != nil && !isForwarded(r.Header) {
		return func(context.Context) (sallyport.Principal, int) { return g.anonymous(), 0 }
	}
	token, ok := bearerToken(values)
	if !ok {
		token = ""
	}
	return g.newTokenCheck(g.tokens, token, headerFault(values))
}

// newTokenCheck returns the check of a token; the empty one is refused, for a fault of
// the request.
func (g *Guard) newTokenCheck(tokens Tokens, token, fault string) principalCheck {
	return func(ctx context.Context) (sallyport.Principal, int) {
		if token == "" {
			noteRefusal(ctx, fault)
			return sallyport.Principal{}, http.StatusUnauthorized
		}
		return g.statusOf(tokens.Principal(ctx, token))
	}
}

// statusOf returns a principal, or the status with which its request is refused.
func (g *Guard) statusOf(p sallyport.Principal, known bool, err error) (sallyport.Principal, int) {
	switch {
	case err != nil:
		g.logger.Error("a token could not be checked", "error", err)
		return sallyport.Principal{}, http.StatusServiceUnavailable
	case !known || p.Name == "":
		return sallyport.Principal{}, http.StatusUnauthorized
	}
	return p, 0
}

// isForwarded reports whether a proxy says that it passed a request on: the client
// behind it need not be on this machine.
func isForwarded(h http.Header) bool {
	for _, key := range [...]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if len(h.Values(key)) > 0 {
			return true
		}
	}
	return false
}

// refusalOf returns the first thing wrong with where a request comes from or
// goes to; status 0 means nothing.
func (g *Guard) refusalOf(r *http.Request) (status int, why string) {
	if !g.isOwnHost(r, r.Host) {
		return http.StatusForbidden, "the Host header names another server"
	}
	if origin := r.Header.Values("Origin"); len(origin) > 0 && !g.isOwnOrigin(r, origin) {
		return http.StatusForbidden, "the request comes from another site"
	}
	// Browsers send this header and scripts cannot change it. A page of
	// another site that sends no Origin still says cross-site here.
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		if g.pages.isReturn(r) {
			break
		}
		return http.StatusForbidden, "the request comes from another site"
	}
	if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if g.pages.hasRequest(r) {
			return g.pages.refuseForm(r, kind)
		}
		if err != nil || kind != "application/json" && (kind != "multipart/form-data" || !g.multipart(r)) {
			return http.StatusUnsupportedMediaType, "the content type must be application/json"
		}
		if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
			return http.StatusUnsupportedMediaType, "the body must not be compressed"
		}
	}
	return 0, ""
}

// isOwnHost reports whether a host, with its port, is this server. A literal
// that is where the connection arrived is: a page of another site reaches us
// under its own name, never under our address. Over TLS clients leave the port out
// where it is 443.
func (g *Guard) isOwnHost(r *http.Request, host string) bool {
	host = strings.ToLower(host)
	if _, _, err := net.SplitHostPort(host); err != nil && r.TLS != nil {
		host += ":443"
	}
	if g.hosts[host] || !g.every {
		return g.hosts[host]
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && (host == local.String() || host == strings.TrimSuffix(local.String(), ":80"))
}

func (g *Guard) isOwnOrigin(r *http.Request, values []string) bool {
	if len(values) != 1 {
		return false
	}
	u, err := url.Parse(values[0])
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Path == "" && u.User == nil && g.isOwnHost(r, u.Host)
}
