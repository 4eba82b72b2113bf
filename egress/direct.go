package egress

import (
	"context"
	"net"
	"net/netip"
	"slices"

	"github.com/sallyport/sallyport"
)

// A program that knows no proxy looks a name up and connects to the address that
// it is told. Inside a child both lead here: the resolver ([Proxy.ServeNames])
// gives each granted name addresses that exist in that child only, and what is
// connected to such an address is served as a tunnel to its name.

// maxDirectPorts bounds the ports of a grant on which something listens inside a
// child: each costs the process a descriptor.
const maxDirectPorts = 64

// whyNoName is why a connection to an address is refused.
const whyNoName = "is an address that stands for no name that was looked up"

// DirectPorts returns the ports of the grant on which [Proxy.ServeDirect] is to
// listen, sorted: the lowest 64 of them, which "*" makes 80 and 443.
func (p *Proxy) DirectPorts() []uint16 {
	ports := p.policy.ports
	return ports[:min(len(ports), maxDirectPorts)]
}

// maxLiterals bounds the addresses of a grant that lead to a listener, each of
// which is a route of the child.
const maxLiterals = 256

// DirectRanges returns the addresses that have to lead to the listeners of
// [Proxy.ServeDirect] inside a child: those that stand for names, and the first
// 256 that the grant lists by themselves. The child has its own loopback already.
func (p *Proxy) DirectRanges() []netip.Prefix {
	ranges := []netip.Prefix{nameRange, nameRange6}
	for _, host := range p.policy.allow.Exact() {
		a, ok := parseLiteral(host)
		if !ok || a.IsLoopback() || Floor(a, p.policy.allowPrivate) != "" {
			continue
		}
		if ranges = append(ranges, netip.PrefixFrom(a, a.BitLen())); len(ranges) == 2+maxLiterals {
			break
		}
	}
	return ranges
}

// NameAt returns the name that an address of [Proxy.DirectRanges] stands for.
func (p *Proxy) NameAt(a netip.Addr) (name string, ok bool) { return p.names.nameAt(a) }

// ServeDirect accepts connections of programs that know no proxy, until Close, for
// which it returns nil, or until the listener fails. It closes the listener,
// which takes all connections of the child to its port, whatever the address.
// The address that the child connected to says which name is meant; what then
// happens is what happens in a tunnel that a client asked for by CONNECT. A
// connection that is refused is reset.
func (p *Proxy) ServeDirect(l net.Listener) error { return p.acceptFrom(l, p.serveDirect) }

func (p *Proxy) serveDirect(ctx context.Context, cancel context.CancelFunc, c *childConn, tooMany bool) {
	if tooMany {
		c.resetAtClose()
		return
	}
	to, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		return
	}
	host, ok := p.hostAt(to.Addr().Unmap(), to.Port())
	if !ok {
		host = to.Addr().Unmap().String()
		p.uses.recordOutcome(host, to.Port(), sallyport.HostError(host, whyNoName))
		c.resetAtClose()
		return
	}
	if to.Port() == portHTTP && p.servePlain(ctx, cancel, c, host) {
		return
	}
	t, err := p.openTunnel(ctx, host, to.Port())
	if err != nil {
		c.resetAtClose()
		return
	}
	defer t.close()
	if to.Port() != portHTTP && to.Port() != portHTTPS {
		c.wait = p.directIdle
		c.idle.Reset(c.wait)
	}
	p.relayTunnel(ctx, cancel, c, t)
}

// loopbackHosts lists how a grant may spell the loopback of this machine.
var loopbackHosts = [...]string{"127.0.0.1", "localhost", "::1"}

// isLoopbackHost reports whether a canonical host is one of them.
func isLoopbackHost(host string) bool { return slices.Contains(loopbackHosts[:], host) }

// hostAt returns which host of the grant an address of the child means: the name
// that it stands for, or the address itself where the grant lists it. The child's
// loopback is its own but for the ports of the host's that are listed, whatever the
// spelling: programs take the first address of localhost that accepts.
func (p *Proxy) hostAt(a netip.Addr, port uint16) (host string, ok bool) {
	if host, ok := p.names.nameAt(a); ok {
		return host, true
	}
	spellings := []string{a.String()}
	if a.IsLoopback() {
		spellings = append(spellings, loopbackHosts[:]...)
	}
	for _, host := range spellings {
		if p.policy.allow.Lists(host, port) {
			return host, true
		}
	}
	return "", false
}

// servePlain serves what goes to port 80 and does not begin with TLS: HTTP, each
// request of which is decided about. It returns false for TLS.
func (p *Proxy) servePlain(ctx context.Context, cancel context.CancelFunc, c *childConn, host string) bool {
	first, err := c.r.Peek(1)
	if err != nil {
		return true
	}
	if first[0] == recordHandshake {
		return false
	}
	err = p.decideTunnel(host, portHTTP)
	p.uses.recordOutcome(host, portHTTP, err)
	if err != nil {
		c.refuseWith(explainError(targetText(host, portHTTP), err))
		return true
	}
	p.serveHTTP(ctx, cancel, c, &tunnel{host: host, port: portHTTP, scheme: "http"})
	return true
}

// resetAtClose has the child see an error instead of an end when the connection is
// closed.
func (c *childConn) resetAtClose() {
	if t, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		t.SetLinger(0)
	}
}
