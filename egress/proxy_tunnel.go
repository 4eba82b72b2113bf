package egress

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// recordHandshake is the first byte of a TLS connection (RFC 8446, section
// 5.1).
const recordHandshake = 22

const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// serveConnect serves a CONNECT whose head has been peeked at.
func (p *Proxy) serveConnect(ctx context.Context, cancel context.CancelFunc, c *childConn, h requestHead) {
	c.r.Discard(h.size)
	host, port, err := connectTarget(h.target)
	if err != nil {
		p.uses.recordMalformed(err)
		c.refuseWith(http.StatusBadRequest, err.Error())
		return
	}
	t, failure := p.openTunnel(ctx, host, port)
	if failure != nil {
		c.refuseWith(explainError(targetText(host, port), failure))
		return
	}
	defer t.close()
	if _, err := io.WriteString(c, established); err != nil {
		return
	}
	p.relayTunnel(ctx, cancel, c, t)
}

// connectTarget reads "host:port" (RFC 9110, section 9.3.6) and nothing else.
func connectTarget(s string) (string, uint16, *sallyport.Error) {
	// User info is not repeated: it may be a credential.
	if strings.ContainsAny(s, "@/?#") {
		return "", 0, sallyport.HostError("the target of CONNECT", "is not host:port")
	}
	host, port, err := reach.SplitHostPort(s)
	if err != nil {
		return "", 0, badHost(s, err)
	}
	if port == 0 {
		return "", 0, sallyport.HostError(host, "is asked for without a port")
	}
	return host, port, nil
}

// tunnel is a decided way to a host: a connection, or the place where what is
// said in it is read.
type tunnel struct {
	host string
	port uint16
	up   *upstreamConn // nil when requests are read here from the beginning
	// scheme is that of the requests that are read here, http or https.
	scheme string
}

// namesLoopback reports whether a Host header names the loopback of the tunnel by
// another spelling. The child may have connected to any of them, and the connection
// goes where the grant says.
func (t *tunnel) namesLoopback(header string) bool {
	host, port, err := reach.SplitHostPort(header)
	return err == nil && host != t.host && isLoopbackHost(host) && isLoopbackHost(t.host) && (port == t.port || port == 0 && t.port == portHTTP)
}

// readHere returns the tunnel as one whose requests are read here.
func (t *tunnel) readHere(scheme string) *tunnel {
	return &tunnel{host: t.host, port: t.port, scheme: scheme}
}

func (t *tunnel) close() {
	if t.up != nil {
		t.up.Close()
	}
}

// openTunnel decides about a tunnel, records the decision and connects.
func (p *Proxy) openTunnel(ctx context.Context, host string, port uint16) (*tunnel, error) {
	t, err := p.tryTunnel(ctx, host, port)
	p.uses.recordOutcome(host, port, err)
	return t, err
}

func (p *Proxy) tryTunnel(ctx context.Context, host string, port uint16) (*tunnel, error) {
	if err := p.decideTunnel(host, port); err != nil {
		return nil, err
	}
	if p.splices.swapFor(host, port, true) != nil {
		// The requests inside are judged and dialled one by one.
		return &tunnel{host: host, port: port}, nil
	}
	if p.policy.readOnly {
		return nil, sallyport.HostError(targetText(host, port), whyReadOnly+"no tunnels")
	}
	conn, err := p.dialer.Dial(ctx, "tcp", host, port)
	if err != nil {
		return nil, err
	}
	return &tunnel{host: host, port: port, up: p.newUpstream(ctx, conn, host, port)}, nil
}

// decideTunnel decides about a tunnel before DNS.
func (p *Proxy) decideTunnel(host string, port uint16) error {
	if err := p.policy.Decide(host, port); err != nil {
		return err
	}
	if p.splices.inHost(host) {
		return misplacedAt("in the name of the host").newRefusal(targetText(host, port))
	}
	return nil
}

// relayTunnel moves bytes until both sides are done, one fails or the child asks for
// another host than the one it named. What the server says first is passed at
// once, so that protocols in which it greets work.
func (p *Proxy) relayTunnel(ctx context.Context, cancel context.CancelFunc, c *childConn, t *tunnel) {
	c.boundReading(0)
	if t.up == nil {
		p.terminateTLS(ctx, cancel, c, t)
		return
	}
	down := make(chan struct{})
	var served atomic.Bool
	go func() {
		defer close(down)
		if copyDirection(c, c.Conn, t.up) != nil && !served.Load() {
			cancel()
		}
	}()
	switch plain, err := p.inspectStart(c, t); {
	case err != nil:
		cancel()
	case plain:
		// The connection is one that has been told nothing. It ends, and the
		// requests are served like those without a tunnel.
		served.Store(true)
		t.up.Close()
		<-down
		c.boundReading(p.headTimeout)
		p.serveHTTP(ctx, cancel, c, t.readHere("http"))
	case copyDirection(t.up, t.up.Conn, bufferedConn{c}) != nil:
		cancel()
	}
	<-down
}

// inspectStart reads the first bytes of the child in a tunnel. It reports
// whether they are HTTP, whose requests name hosts themselves.
func (p *Proxy) inspectStart(c *childConn, t *tunnel) (plain bool, err error) {
	first, err := c.r.Peek(1)
	if err == io.EOF {
		return false, nil // a client that only listens
	}
	if err != nil {
		return false, err
	}
	c.boundReading(p.headTimeout)
	defer c.boundReading(0)
	switch {
	case first[0] == recordHandshake:
		name, err := helloName(c.r)
		if err != nil {
			return false, p.refuseInside(t, "", "is sent a ClientHello that cannot be read")
		}
		return false, p.checkName(t, name)
	case t.port == portHTTPS:
		return false, p.refuseInside(t, "", "is not spoken to in TLS on port 443")
	case t.port == portHTTP:
		return true, nil
	}
	plain, err = speaksHTTP(c.r)
	if err != nil {
		return false, p.refuseInside(t, "", "is sent a first line that does not end")
	}
	return plain, nil
}

// checkName refuses a ClientHello that names another host than the tunnel: a
// front end that serves both would answer for the other (domain fronting). It
// may be silent only where there is nothing to name, with an address.
func (p *Proxy) checkName(t *tunnel, name string) error {
	if name == "" {
		if _, ok := parseLiteral(t.host); ok || isLoopbackHost(t.host) {
			return nil
		}
		return p.refuseInside(t, "", "is not named in the ClientHello")
	}
	host, err := reach.CanonicalHost(name)
	if err != nil {
		return p.refuseInside(t, "", "is named differently in the ClientHello")
	}
	if host != t.host && !(isLoopbackHost(t.host) && isLoopbackHost(host)) {
		return p.refuseInside(t, host, "is asked for through a tunnel to "+targetText(t.host, t.port))
	}
	return nil
}

// refuseInside records a refusal that comes after the tunnel was opened. The
// host is the one that was really asked for, or "" for the tunnel's.
func (p *Proxy) refuseInside(t *tunnel, host, reason string) error {
	host = cmp.Or(host, t.host)
	err := sallyport.HostError(host, reason)
	p.uses.recordOutcome(host, t.port, err)
	return err
}

var errPeeked = errors.New("the name is known")

// helloName reads the server name of the ClientHello at the head of r without
// consuming it; "" means that there is none. crypto/tls does the reading: it
// joins fragments, bounds lengths, and refuses repeated extensions and names.
func helloName(r *bufio.Reader) (string, error) {
	name := ""
	s := tls.Server(&peekConn{r: r}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, errPeeked
		},
	})
	if err := s.Handshake(); !errors.Is(err, errPeeked) {
		return "", errors.New("no ClientHello")
	}
	return name, nil
}

// peekConn reads what comes without taking it away, and keeps alerts to
// itself.
type peekConn struct {
	net.Conn // nil: nothing else is called during a handshake without a deadline
	r        *bufio.Reader
	off      int
}

func (p *peekConn) Read(b []byte) (int, error) {
	if _, err := p.r.Peek(p.off + 1); err != nil {
		return 0, err
	}
	raw, err := p.r.Peek(p.r.Buffered())
	n := copy(b, raw[p.off:])
	p.off += n
	return n, err
}

func (*peekConn) Write(b []byte) (int, error) { return len(b), nil }

// refusalOf returns whether an error is the policy's, and its reason for the
// record.
func refusalOf(err error) (refusal bool, why string) {
	if err == nil {
		return false, ""
	}
	e, ok := errors.AsType[*sallyport.Error](err)
	if !ok {
		return false, "did not answer"
	}
	return e.Code == sallyport.CodeHostNotAllowed, e.Detail
}

// explainError returns what the child is told about an error: the text of ours,
// and none of the texts below it, which name addresses.
func explainError(where string, err error) (status int, text string) {
	e, ok := errors.AsType[*sallyport.Error](err)
	if ok && e.Code == sallyport.CodeHostNotAllowed {
		return http.StatusForbidden, e.Error()
	}
	status, text = http.StatusBadGateway, where+" did not answer"
	if ok {
		text = e.Error()
	}
	var timeout interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		status = http.StatusGatewayTimeout
	}
	return status, text
}
