package egress

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestA6_ANarrowerPolicyJudgesAddresses takes private addresses away from a
// client with a connection to one.
func TestA6_ANarrowerPolicyJudgesAddresses(t *testing.T) {
	o := direct(listen(t, func(c *net.TCPConn) { io.Copy(c, c) }))
	o.Resolve = func(context.Context, string) ([]netip.Addr, error) { return addrs("10.0.0.1"), nil }
	g := sallyport.NetworkGrant{Allow: []string{"a.example"}, AllowPrivate: true}
	c, err := New(g, &Options{DialOptions: *o})
	if err != nil {
		t.Fatal(err)
	}
	b := c.Bind(nil)
	conn, err := b.DialContext(t.Context(), "tcp", "a.example:80")
	if err != nil {
		t.Fatal(err)
	}
	g.AllowPrivate = false
	if closed, err := c.Narrow(g); closed != 1 || err != nil {
		t.Errorf("Narrow() closed %d, %v", closed, err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a connection to a private address is open")
	}
	_, err = b.DialContext(t.Context(), "tcp", "a.example:80")
	wantRefused(t, "another connection", err, "private")
}
