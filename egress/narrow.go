package egress

import (
	"net"
	"net/netip"
	"sync"

	"github.com/sallyport/sallyport"
)

// openConnections are those that were opened under a policy and are not closed.
type openConnections struct {
	mu  sync.Mutex
	all map[*openConnection]struct{}
}

// openConnection is one of them, what was asked for and to what that was resolved.
type openConnection struct {
	net.Conn
	policy *Policy
	host   string
	port   uint16
	addrs  []netip.Addr
}

// Narrow has the policy refuse from now on what a grant does not hold, beside
// what it refuses anyway, and closes the connections that are open to what is
// refused now: tunnels, streams and those that are kept for the next request. It
// returns how many it closed. It takes the place of an earlier one: what that took
// away counts again when g holds it. The error is that of [NewPolicy].
func (p *Policy) Narrow(g sallyport.NetworkGrant) (closed int, err error) {
	over, err := newHostRules(g)
	if err != nil {
		return 0, err
	}
	p.over.Store(over)
	p.open.mu.Lock()
	var gone []*openConnection
	for c := range p.open.all {
		if c.currentRefusal() != nil {
			gone = append(gone, c)
		}
	}
	p.open.mu.Unlock()
	for _, c := range gone {
		c.Close()
	}
	return len(gone), nil
}

// trackConnection has the policy close a connection when it becomes narrower.
// It is an error when it has become so since the connection was decided about.
func (p *Policy) trackConnection(conn net.Conn, host string, port uint16, addrs []netip.Addr) (net.Conn, error) {
	c := &openConnection{conn, p, host, port, addrs}
	p.open.mu.Lock()
	if p.open.all == nil {
		p.open.all = map[*openConnection]struct{}{}
	}
	p.open.all[c] = struct{}{}
	p.open.mu.Unlock()
	if err := c.currentRefusal(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *openConnection) currentRefusal() error {
	over := c.policy.over.Load()
	if over == nil {
		return nil
	}
	if err := over.checkHost(c.host, c.port); err != nil {
		return err
	}
	return over.checkAddresses(c.host, c.port, c.addrs)
}

func (c *openConnection) Close() error {
	c.policy.open.mu.Lock()
	delete(c.policy.open.all, c)
	c.policy.open.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite closes the half that writes, where the connection has halves.
func (c *openConnection) CloseWrite() error {
	if h, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return nil
}
