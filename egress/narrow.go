package egress

import (
	"net"
	"net/netip"
	"sync"
)

// connections are those that were opened under a policy and are not closed.
type connections struct {
	mu  sync.Mutex
	all map[*connection]struct{}
}

// connection is one of them, what was asked for and to what that was resolved.
type connection struct {
	net.Conn
	policy *Policy
	host   string
	port   uint16
	addrs  []netip.Addr
}

// follow counts a connection among those that are open under the policy.
func (p *Policy) follow(conn net.Conn, host string, port uint16, addrs []netip.Addr) (net.Conn, error) {
	c := &connection{conn, p, host, port, addrs}
	p.open.mu.Lock()
	if p.open.all == nil {
		p.open.all = map[*connection]struct{}{}
	}
	p.open.all[c] = struct{}{}
	p.open.mu.Unlock()
	return c, nil
}

// Close closes the connection.
func (c *connection) Close() error {
	c.policy.open.mu.Lock()
	delete(c.policy.open.all, c)
	c.policy.open.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite closes the half that writes, where the connection has halves.
func (c *connection) CloseWrite() error {
	if h, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return nil
}
