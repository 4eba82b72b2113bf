package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	// defaultMaxResponseBytes bounds a response body, decompressed, unless
	// configured: enough for any document that a model will be shown a part
	// of, and few enough to be held in memory by several calls at once.
	defaultMaxResponseBytes = 64 << 20
	// defaultTimeout bounds an exchange, redirects and body included, unless
	// configured.
	defaultTimeout = 100 * time.Second
	// maxRedirects is how many redirects are followed, as many as net/http
	// and most browsers' libraries follow by default.
	maxRedirects = 10

	// maxHeaderBytes bounds the header of a response. Servers in the wild
	// stay below 64 KiB.
	maxHeaderBytes = 256 << 10
	// Idle connections are kept per grant, so both bounds are low: a grant is
	// used by one tool under one personality. As many as usually call one
	// server at once find theirs again: with 4, a sixth of the processor time
	// of calls by 16 went into dialling.
	maxIdle        = 32
	maxIdlePerHost = 16
	idleTimeout    = 30 * time.Second
	tlsTimeout     = 10 * time.Second
)

// Options configure a client. The zero value uses the system's resolver,
// dialer and certificates with the default bounds.
type Options struct {
	DialOptions
	// MaxResponseBytes bounds a response body after decompression; 0 means
	// 64 MiB.
	MaxResponseBytes int64
	// Timeout bounds a whole exchange including redirects and the body; 0
	// means 100 s.
	Timeout time.Duration
	// RootCAs is whom to trust for https; nil means the system's pool.
	RootCAs *x509.CertPool
}

// Client is one grant's way out: a policy and the connections that it has
// let through. Connections are shared by all calls under the grant and by
// none under another. It is safe for concurrent use.
type Client struct {
	policy    *Policy
	dialer    *policyDialer
	transport *http.Transport
	maxBytes  int64
	timeout   time.Duration
}

// New compiles a grant into a client; nil options mean the zero value. It
// fails when the grant or an option is not well formed. The owner calls
// [Client.Close].
func New(g sallyport.NetworkGrant, o *Options) (*Client, error) {
	p, err := NewPolicy(g)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	if o.MaxResponseBytes < 0 || o.Timeout < 0 {
		return nil, errors.New("egress: a bound is negative")
	}
	c := &Client{
		policy: p, dialer: newPolicyDialer(p, &o.DialOptions),
		maxBytes: cmp.Or(o.MaxResponseBytes, defaultMaxResponseBytes), timeout: cmp.Or(o.Timeout, defaultTimeout),
	}
	c.transport = &http.Transport{
		// A proxy would receive the request and connect where it likes.
		Proxy:                  nil,
		DialContext:            c.dialHTTP,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:    tlsTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return c, nil
}

// Policy returns the policy that the client obeys.
func (c *Client) Policy() *Policy { return c.policy }

// Narrow has the client refuse what a grant does not hold: see [Policy.Narrow].
func (c *Client) Narrow(g sallyport.NetworkGrant) (closed int, err error) { return c.policy.Narrow(g) }

// Close closes idle connections. The client can still be used.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// dialHTTP is called by the transport for a host that was decided about. It
// decides again: the dialer has no way in without a decision.
func (c *Client) dialHTTP(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	return c.dialer.Dial(ctx, network, host, port)
}

func splitAddress(address string) (host string, port uint16, err error) {
	host, port, err = reach.SplitHostPort(address)
	if err != nil {
		return "", 0, badHost(address, err)
	}
	if port == 0 {
		return "", 0, urlError(host, "has no port")
	}
	return host, port, nil
}

// Observer is told what a call does. Its method may be called from several
// goroutines.
type Observer interface {
	// Observe receives a target, host or host:port, and the refusal, nil
	// when the policy let it pass. A target that could not be understood is
	// empty.
	Observe(target string, refusal *sallyport.Error)
}

// Binding is a client as one call uses it: what is refused or let pass is
// reported to the call's observer. Copy it before the first use only. It is
// safe for concurrent use.
type Binding struct {
	client   *Client
	observer Observer
	call     context.Context
}

// Bind returns the client's binding for one call. It is cheap. A nil observer
// is allowed. The zero Binding, which a nil client gives too, refuses
// everything.
func (c *Client) Bind(o Observer) Binding { return Binding{client: c, observer: o} }

// During returns a copy that refuses once the context of its call is over. A
// binding lives for one call, so that it may hold its context.
func (b Binding) During(call context.Context) Binding {
	b.call = call
	return b
}

// callError returns why the call has ended; nil when it has not.
func (b *Binding) callError() error {
	if b.call == nil {
		return nil
	}
	return b.call.Err()
}

// Probe judges the host of an absolute URL as a request would be judged before
// any name is looked up, and reaches for nothing.
func (b *Binding) Probe(rawURL string) error {
	if b.client == nil {
		return sallyport.HostError("", "")
	}
	u, err := ParseURL(rawURL)
	if err != nil {
		return b.reportOutcome("", err)
	}
	to, err := originOf(u)
	if err == nil {
		err = b.client.policy.Check(to.host, to.port)
	}
	if err == nil {
		return nil
	}
	return b.reportOutcome(observedText(to.host, to.port, err), err)
}

// Client returns an *http.Client. It follows redirects, each checked like a
// first request; it has no cookie jar; its time and size bounds lie in its
// transport, so that a changed copy of the client keeps them. It closes no
// connections of others.
func (b *Binding) Client() *http.Client {
	return &http.Client{Transport: b, CheckRedirect: countedByRoundTrip}
}

// countedByRoundTrip leaves the bound on redirects to the transport, where a
// client with another CheckRedirect meets it too.
func countedByRoundTrip(*http.Request, []*http.Request) error { return nil }

// RoundTrip sends one request, or the next hop of one. See [Client.Bind] and
// the package comment for what it holds to.
func (b *Binding) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := b.callError(); err != nil {
		closeBody(req)
		return nil, err
	}
	if b.client == nil {
		closeBody(req)
		return nil, b.reportOutcome(req.URL.Hostname(), sallyport.HostError(req.URL.Hostname(), ""))
	}
	resp, where, err := b.client.tracedRoundTrip(req)
	return resp, b.reportOutcome(where, err)
}

// DialContext opens a TCP connection to a granted host. The network is tcp,
// tcp4 or tcp6, the address host:port. A read-only grant has no raw
// connections: whatever is sent over one could change something.
func (b *Binding) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if err := b.callError(); err != nil {
		return nil, err
	}
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, net.UnknownNetworkError(network)
	}
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, b.reportOutcome("", err)
	}
	where := targetText(host, port)
	switch {
	case b.client == nil:
		return nil, b.reportOutcome(where, sallyport.HostError(where, ""))
	case b.client.policy.readOnly:
		return nil, b.reportOutcome(where, sallyport.HostError(where, whyReadOnly+"no raw connections"))
	}
	conn, err := b.client.dialer.Dial(ctx, network, host, port)
	return conn, b.reportOutcome(observedText(host, port, err), err)
}

func (b *Binding) reportOutcome(where string, err error) error {
	if b.observer == nil {
		return err
	}
	var refusal *sallyport.Error
	if e, ok := errors.AsType[*sallyport.Error](err); ok && e.Code == sallyport.CodeHostNotAllowed {
		refusal = e
	}
	if refusal != nil || where != "" {
		b.observer.Observe(where, refusal)
	}
	return err
}
