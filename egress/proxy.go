package egress

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/listening"
)

const (
	// defaultProxyConnections is how many connections of one child a proxy
	// serves at once unless configured: a package manager opens some dozens.
	defaultProxyConnections = 256
	// defaultHeadTimeout bounds the time in which a request, or the greeting
	// of a protocol, has to arrive unless configured.
	defaultHeadTimeout = 30 * time.Second
	// defaultProxyIdle ends a connection over which nothing came or went
	// unless configured. Long polls answer within a minute or two.
	defaultProxyIdle = 5 * time.Minute
	// defaultDirectIdle is that of a direct connection on another port than those
	// of HTTP: drivers of databases keep some open that they may need again. It is
	// the time after which TCP asks whether the other side is there (RFC 9293,
	// section 3.8.4).
	defaultDirectIdle = 2 * time.Hour
	// acceptPause is how long a process without free descriptors waits at most
	// before it accepts again.
	acceptPause = 50 * time.Millisecond
	// reserveShare is the part of the process's descriptors, half of them, that
	// the proxies of all children leave to everything else.
	reserveShare = 2
)

// ProxyOptions configure a proxy. The zero value splices nothing and has the
// default bounds.
type ProxyOptions struct {
	// Splices lists the secrets that take the place of stand-ins. See [Proxy].
	Splices []sallyport.Splice
	// RootCAs is whom to trust for the hosts of splices; nil means the
	// system's pool.
	RootCAs *x509.CertPool
	// Logger gets, once for a host, a warning of a stand-in in a place where none
	// is replaced; nil means no log.
	Logger *slog.Logger
	// MaxConnections bounds the connections of the child; 0 means
	// 256. Those beyond it are answered with 503.
	MaxConnections int
	// HeadTimeout bounds the arrival of a request's head; 0 means
	// 30 s.
	HeadTimeout time.Duration
	// IdleTimeout ends a silent connection; 0 means 5 min, and 2 hours for one of
	// [Proxy.ServeDirect] on another port than 80 and 443.
	IdleTimeout time.Duration
}

// Proxy is the way out of one confined child under one policy. It speaks HTTP
// CONNECT, plain HTTP with absolute targets, and SOCKS5 on the same listener.
//
// What the child asks for is the target of its request, never a Host header.
// It is decided and dialled by the same [Policy] and dialer as a fetch in
// this process: canonical name, decision, one lookup, judgement of every
// address, and the floor once more on the socket. A redirect is the child's
// to follow and a new request here.
//
// A tunnel that begins with TLS must name its own host in the ClientHello, so
// that a granted name is no door to its neighbours behind one front end. On
// port 443 it must begin with TLS. Without TLS, what begins like HTTP and
// whatever goes to port 80 is served like plain HTTP, each request for the
// host of the tunnel; so there are neither WebSockets nor HTTP/2 without
// encryption. On other ports any other protocol may pass: the policy has named
// the host and the port, and the address is fixed. What is said inside of TLS
// is not seen. Neither is a ClientHello that a server asks to repeat, nor the
// inner name of an encrypted one, whose outer name must be the host's. A
// read-only grant opens no tunnels but those that are read here.
//
// Only the child can connect to the listener: it lies in the child's
// network namespace, so that a password would prove nothing. Credentials for
// a proxy are accepted and dropped.
//
// A host that gets a secret is different: its TLS ends here, under a
// certificate of an authority that lives for this run ([Proxy.CA]). The
// stand-in becomes the value where it is a whole value by itself or behind a
// declared prefix: of a header, a user or password of Basic credentials, a
// cookie, a parameter of the query or of a form, a string of a JSON body. A
// request that has it anywhere else in what is read here is refused: a server
// that reads the value together with what stands beside it gives back something
// in which it is not recognised. The value is
// taken out of the answer again, in the forms in which servers usually repeat
// what they were told; a server that transforms it otherwise, or a secret
// cut by the server, is not caught. Answers have to come uncompressed and
// whole: Range and its like are not sent, and a part is refused. Such a host is
// spoken to in HTTP/1.1 without a change of protocol, so that there are neither
// WebSockets nor gRPC. On its other ports, and on port 80, the value is taken
// out as well and never put in; tunnels to them carry TLS or, on port 80, HTTP.
// Without encryption no value travels, and for any other host the stand-in is
// ordinary text.
//
// With AllowPrivate a loopback address is the one of this process, not the
// child's: the child reaches its own loopback without a proxy, but for the ports
// that the grant lists with it.
//
// A Proxy is safe for concurrent use.
type Proxy struct {
	policy    *Policy
	dialer    *policyDialer
	transport *http.Transport
	splices   *spliceSet // nil when there are none
	uses      hostUses
	names     childNames
	queries   queryPace
	// directIPv6 says that the child has the addresses of nameRange6.
	directIPv6 atomic.Bool

	maxConns          int
	headTimeout, idle time.Duration
	directIdle        time.Duration

	// life is the context of everything that the proxy does; it ends with
	// Close, which no call's context spans.
	life context.Context
	end  context.CancelFunc

	mu        sync.Mutex
	closed    bool
	listeners map[io.Closer]struct{}
	conns     int
	running   sync.WaitGroup
}

// NewProxy returns a proxy for a policy; nil options mean their zero values.
// It fails when a bound is negative or a splice is not well formed. The error
// does not hold a secret. The owner calls [Proxy.Close].
func NewProxy(p *Policy, d *DialOptions, o *ProxyOptions) (*Proxy, error) {
	if p == nil {
		return nil, errors.New("egress: a proxy without a policy")
	}
	if o == nil {
		o = &ProxyOptions{}
	}
	if o.MaxConnections < 0 || o.HeadTimeout < 0 || o.IdleTimeout < 0 {
		return nil, errors.New("egress: a bound of the proxy is negative")
	}
	s, err := newSpliceSet(o.Splices)
	if err != nil {
		return nil, err
	}
	x := &Proxy{
		policy: p, dialer: newPolicyDialer(p, d), splices: s, listeners: map[io.Closer]struct{}{},
		maxConns:    cmp.Or(o.MaxConnections, defaultProxyConnections),
		headTimeout: cmp.Or(o.HeadTimeout, defaultHeadTimeout),
		idle:        cmp.Or(o.IdleTimeout, defaultProxyIdle),
		directIdle:  cmp.Or(o.IdleTimeout, defaultDirectIdle),
	}
	x.uses.logger = o.Logger
	x.life, x.end = context.WithCancel(context.Background())
	x.transport = &http.Transport{
		Proxy:       nil, // as in New
		DialContext: x.dialHTTP,
		// The child negotiates HTTP/1.1 and so does the proxy; it never asks
		// for a compression that the child did not ask for.
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:    tlsTimeout,
		DisableCompression:     true,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return x, nil
}

// CA returns the certificate of the run's authority as PEM, nil when no host
// needs one. The child has to trust it beside the usual ones. It is valid for
// a day, and only for the hosts of splices as far as they can be enumerated.
func (p *Proxy) CA() []byte {
	if p.splices == nil {
		return nil
	}
	return p.splices.authority.pem
}

// Narrow has the proxy refuse what a grant does not hold, and cuts what is open
// to it: see [Policy.Narrow].
func (p *Proxy) Narrow(g sallyport.NetworkGrant) (closed int, err error) { return p.policy.Narrow(g) }

// Uses returns what was decided and how many bytes went so far, by host, port
// and decision in the order of the first request. What was allowed and
// what was refused have a bound each, and the rest of either is summed up in
// one more entry, whose host is "*". Where a target could not be understood the
// host is empty, or quoted as it came.
func (p *Proxy) Uses() []sallyport.HostUse { return p.uses.listUses() }

// Refused returns of [Proxy.Uses] what was refused.
func (p *Proxy) Refused() []sallyport.HostUse {
	if !p.uses.hasRefused() {
		return nil
	}
	return slices.DeleteFunc(p.uses.listUses(), func(u sallyport.HostUse) bool { return u.Allowed })
}

// Serve accepts connections until Close, for which it returns nil, or until
// the listener fails. It closes the listener. It may be called for several
// listeners of the same child.
func (p *Proxy) Serve(l net.Listener) error { return p.acceptFrom(l, p.serveClient) }

// childTalk speaks with the child over one connection until either hangs up.
// tooMany says that the child has as many others as it may.
type childTalk func(ctx context.Context, cancel context.CancelFunc, c *childConn, tooMany bool)

// acceptFrom has talk serve what a listener accepts.
func (p *Proxy) acceptFrom(l net.Listener, talk childTalk) error {
	// The child must not be able to end its proxy by filling a table, nor to
	// take the descriptors of the process that serves it.
	l = listening.New(l, &listening.Options{Reserve: listening.Share(reserveShare), Pause: acceptPause})
	defer l.Close()
	if !p.trackListener(l) {
		return nil
	}
	defer p.untrackListener(l)
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			p.startServing(conn, talk)
		case p.life.Err() != nil:
			return nil
		default:
			return err
		}
	}
}

// Close ends every connection and waits until nothing runs any more. The
// counts of Uses are final then. It always returns nil.
func (p *Proxy) Close() error {
	p.end()
	p.mu.Lock()
	p.closed = true
	for l := range p.listeners {
		l.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
	p.transport.CloseIdleConnections()
	return nil
}

func (p *Proxy) trackListener(l io.Closer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.listeners[l] = struct{}{}
	p.running.Add(1)
	return true
}

func (p *Proxy) untrackListener(l io.Closer) {
	p.mu.Lock()
	delete(p.listeners, l)
	p.mu.Unlock()
	p.running.Done()
}

// startServing serves a connection. As many again as may be served are told that
// there are too many; what comes beyond those is dropped.
func (p *Proxy) startServing(conn net.Conn, talk childTalk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.conns >= 2*p.maxConns {
		conn.Close()
		return
	}
	p.conns++
	tooMany := p.conns > p.maxConns
	p.running.Go(func() {
		p.serveChild(conn, tooMany, talk)
		p.mu.Lock()
		p.conns--
		p.mu.Unlock()
	})
}

// serveChild has talk serve one connection, which ends with it.
func (p *Proxy) serveChild(conn net.Conn, tooMany bool, talk childTalk) {
	ctx, cancel := context.WithCancel(p.life)
	defer cancel()
	c := newChildConn(conn, time.AfterFunc(p.idle, cancel), p.idle)
	defer c.releaseBuffer()
	defer c.idle.Stop()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	c.boundReading(p.headTimeout)
	talk(ctx, cancel, c, tooMany)
}

// serveClient serves a client that knows that this is a proxy.
func (p *Proxy) serveClient(ctx context.Context, cancel context.CancelFunc, c *childConn, tooMany bool) {
	first, err := c.r.Peek(1)
	switch {
	case err != nil:
	case tooMany:
		c.refuseWith(http.StatusServiceUnavailable, "the proxy serves as many connections as it may")
	case first[0] == socksVersion:
		p.serveSOCKS(ctx, cancel, c)
	default:
		p.serveHTTP(ctx, cancel, c, nil)
	}
}

// dialHTTP is called by the transport. It decides again, like a client's.
func (p *Proxy) dialHTTP(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	// The transport detaches its dials from requests. This one ends with the
	// proxy, and so does the connection.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	conn, err := p.dialer.Dial(ctx, network, host, port)
	if err != nil {
		return nil, err
	}
	return p.newUpstream(p.life, conn, host, port), nil
}

// readers holds buffers of the size that a request's head may have.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxHead) }}
