package egress

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestA6_ANarrowerPolicyCutsWhatIsOpen takes a host away from a proxy that has
// tunnels to it and to another one, and gives it back.
func TestA6_ANarrowerPolicyCutsWhatIsOpen(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) { io.Copy(c, c) })
	both := allow("a.example:7", "b.example:7")
	for _, tt := range []struct {
		name string
		now  sallyport.NetworkGrant
	}{
		{"not granted any more", allow("b.example:7")},
		{"denied", sallyport.NetworkGrant{Allow: []string{"*", "a.example:7", "b.example:7"}, Deny: []string{"a.example"}, AllowPrivate: both.AllowPrivate}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, addr := startProxy(t, both, direct(to), nil)
			gone, fromGone := tunnelTo(t, addr, "a.example:7")
			kept, fromKept := tunnelTo(t, addr, "b.example:7")
			if closed, err := p.Narrow(tt.now); closed != 1 || err != nil {
				t.Errorf("Narrow() closed %d, %v, want the one to the host that is gone", closed, err)
			}
			if _, err := fromGone.ReadByte(); err == nil {
				t.Error("a tunnel to a host that was taken away is open")
			}
			gone.Close()
			io.WriteString(kept, "x\r\n")
			if b, err := fromKept.ReadByte(); b != 'x' {
				t.Errorf("a tunnel to the other host = %q, %v", b, err)
			}
			if got := status(say(t, addr, "CONNECT a.example:7 HTTP/1.1\r\nHost: a.example:7\r\n\r\n")); got != "403" {
				t.Errorf("another tunnel to the host that is gone = %s, want 403", got)
			}
			// It never becomes wider than it was.
			if _, err := p.Narrow(allow("a.example:7", "c.example:7")); err != nil {
				t.Fatal(err)
			}
			tunnelTo(t, addr, "a.example:7")
			if got := status(say(t, addr, "CONNECT c.example:7 HTTP/1.1\r\nHost: c.example:7\r\n\r\n")); got != "403" {
				t.Errorf("a tunnel to a host that was never granted = %s, want 403", got)
			}
		})
	}
}

// TestA6_ANarrowerPolicyJudgesAddresses takes private addresses away from a
// client with a connection to one.
func TestA6_ANarrowerPolicyJudgesAddresses(t *testing.T) {
	t.Parallel()
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
