package egress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sallyport/sallyport"
)

// insideListener gives its connections the address that a child dialled.
type insideListener struct {
	net.Listener
	to net.Addr
}

type insideConn struct {
	*net.TCPConn
	to net.Addr
}

func (l insideListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return insideConn{c.(*net.TCPConn), l.to}, nil
}

func (c insideConn) LocalAddr() net.Addr { return c.to }

// dialInside connects as a child does that was told an address.
func dialInside(t testing.TB, p *Proxy, to netip.AddrPort) *net.TCPConn {
	t.Helper()
	return connectTo(t, serveInside(t, p, to))
}

// wantReset connects to an address of a child where that is refused.
func wantReset(t testing.TB, p *Proxy, to netip.AddrPort) {
	t.Helper()
	c, err := net.Dial("tcp", serveInside(t, p, to))
	if err == nil {
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection to %v = %v, want a reset", to, err)
	}
}

// serveInside listens as if for one address of a child.
func serveInside(t testing.TB, p *Proxy, to netip.AddrPort) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { _ = p.ServeDirect(insideListener{l, net.TCPAddrFromAddrPort(to)}) }()
	return l.Addr().String()
}

// tellHost tells which host was asked for.
func tellHost(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "this is %s", r.Host) }

func TestConnectionsGoToTheNameOfTheirAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), tellHost)
	p, _ := w.proxy(t, sallyport.NetworkGrant{Allow: []string{"a.example.org", "b.example.org:8443"}}, nil)
	a, b := addressIn(t, p, "a.example.org"), addressIn(t, p, "b.example.org")
	talk := func(to netip.Addr, port uint16, name string) (string, error) {
		var c net.Conn = dialInside(t, p, netip.AddrPortFrom(to, port))
		if port != 80 {
			s := tls.Client(c, &tls.Config{ServerName: name, RootCAs: w.roots})
			if err := s.Handshake(); err != nil {
				return "", err
			}
			c = s
		}
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", name)
		out, err := io.ReadAll(c)
		return string(out), err
	}
	for _, c := range []struct {
		to   netip.Addr
		port uint16
		name string
		want string // empty: refused
	}{
		{a, 443, "a.example.org", "this is a.example.org"},
		{a, 80, "a.example.org", "this is a.example.org"},
		{b, 8443, "b.example.org", "this is b.example.org"},
		{a, 443, "b.example.org", ""},
		{a, 80, "b.example.org", ""},
	} {
		got, err := talk(c.to, c.port, c.name)
		if c.want == "" && strings.Contains(got, "this is") || !strings.Contains(got, c.want) {
			t.Errorf("%s:%d as %s = %q, %v, want %q", c.to, c.port, c.name, got, err, c.want)
		}
	}
}

func TestDirectConnectionsAreReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), tellHost)
	p, _ := w.proxy(t, sallyport.NetworkGrant{Allow: []string{"a.example.org"}}, nil)
	for _, to := range []string{
		"198.18.9.9:443", "198.19.0.1:443", "198.18.0.77:443", "127.0.0.1:443", "[fd73:616c:6c79::9]:443", "[::ffff:198.18.0.9]:443",
	} {
		wantReset(t, p, netip.MustParseAddrPort(to))
	}
	if u := findUse(t, p, "198.18.0.77", false); u.Port != 443 || !strings.Contains(u.Why, whyNoName) {
		t.Errorf("a guessed address: %+v", u)
	}
	a := addressIn(t, p, "a.example.org")
	for _, port := range []uint16{22, 8443} {
		wantReset(t, p, netip.AddrPortFrom(a, port))
	}
}

// A server that speaks first is heard, and bytes go both ways.
func TestDirectConnectionsTakeAnyProtocol(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) {
		io.WriteString(c, "greetings")
		io.Copy(c, c)
	})
	p, _ := startProxy(t, sallyport.NetworkGrant{Allow: []string{"db.example.org:5432"}}, direct(to), nil)
	c := dialInside(t, p, netip.AddrPortFrom(addressIn(t, p, "db.example.org"), 5432))
	buf := make([]byte, 9)
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "greetings" {
		t.Fatalf("the server's first words = %q, %v", buf, err)
	}
	io.WriteString(c, "\x00\x00\x00\x08")
	c.CloseWrite()
	if out, err := io.ReadAll(c); err != nil || string(out) != "\x00\x00\x00\x08" {
		t.Errorf("the echo = %q, %v", out, err)
	}
	if u := findUse(t, p, "db.example.org", true); u.Port != 5432 || u.Sent != 4 || u.Received != 13 {
		t.Errorf("Uses = %+v", u)
	}
}

// A grant that becomes narrower takes the name, the address and what is open.
func TestNarrowingEndsDirectConnections(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) { io.Copy(c, c) })
	p, _ := startProxy(t, sallyport.NetworkGrant{Allow: []string{"db.example.org:5432"}}, direct(to), nil)
	at := netip.AddrPortFrom(addressIn(t, p, "db.example.org"), 5432)
	c := dialInside(t, p, at)
	io.WriteString(c, "\x00")
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if n, err := p.Narrow(sallyport.NetworkGrant{Allow: []string{}}); n != 1 || err != nil {
		t.Errorf("Narrow = %d, %v", n, err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection stays open")
	}
	if a, code := ask(t, p, "db.example.org.", dnsmessage.TypeA); code != dnsmessage.RCodeNameError {
		t.Errorf("the name = %v, %v", a, code)
	}
	wantReset(t, p, at)
}

func TestDirectConnectionsGetSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, len(r.Header.Get("Authorization"))) })
	value := strings.Repeat("s", 40)
	p, _ := w.proxy(t, sallyport.NetworkGrant{Allow: []string{"api.example.org"}}, &ProxyOptions{Splices: []sallyport.Splice{
		{Placeholder: "sallyport-stand-in", Value: sallyport.NewSecret(value), Hosts: []string{"api.example.org"}},
	}})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.CA())
	c := dialInside(t, p, netip.AddrPortFrom(addressIn(t, p, "api.example.org"), 443))
	s := tls.Client(c, &tls.Config{ServerName: "api.example.org", RootCAs: roots})
	io.WriteString(s, "GET / HTTP/1.1\r\nHost: api.example.org\r\nAuthorization: sallyport-stand-in\r\nConnection: close\r\n\r\n")
	if out, err := io.ReadAll(s); err != nil || !strings.Contains(string(out), "\r\n40\r\n") {
		t.Errorf("the answer = %q, %v", out, err)
	}
}

func TestDirectConnectionsOfAReadOnlyGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), tellHost)
	p, _ := w.proxy(t, sallyport.NetworkGrant{Allow: []string{"a.example.org"}, ReadOnly: true}, nil)
	at := addressIn(t, p, "a.example.org")
	for method, want := range map[string]string{"GET": "200", "POST": "403"} {
		c := dialInside(t, p, netip.AddrPortFrom(at, 80))
		fmt.Fprintf(c, "%s / HTTP/1.1\r\nHost: a.example.org\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method)
		if out, _ := io.ReadAll(c); status(string(out)) != want {
			t.Errorf("%s = %q, want %s", method, out, want)
		}
	}
	wantReset(t, p, netip.AddrPortFrom(at, 443))
}

// An address that a grant lists by itself needs no name.
func TestAddressesOfTheGrantNeedNoName(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) { io.Copy(c, c) })
	g := sallyport.NetworkGrant{
		Allow:        []string{"93.184.216.7:5432", "10.0.0.5:5432", "localhost:5432", "*:9", "169.254.169.254", "198.18.0.1", "[2001:4860::5]:5432"},
		AllowPrivate: true,
	}
	p, _ := startProxy(t, g, direct(to), nil)
	ranges := []netip.Prefix{
		nameRange, nameRange6, netip.MustParsePrefix("10.0.0.5/32"), netip.MustParsePrefix("2001:4860::5/128"), netip.MustParsePrefix("93.184.216.7/32"),
	}
	if got := p.DirectRanges(); !slices.Equal(got, ranges) {
		t.Errorf("DirectRanges = %v, want %v", got, ranges)
	}
	if got, want := p.DirectPorts(), []uint16{9, 80, 443, 5432}; !slices.Equal(got, want) {
		t.Errorf("DirectPorts = %v, want %v", got, want)
	}
	for _, at := range []string{"93.184.216.7:5432", "10.0.0.5:5432", "127.0.0.1:5432", "[::1]:5432"} {
		c := dialInside(t, p, netip.MustParseAddrPort(at))
		io.WriteString(c, "\x00")
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	for _, at := range []string{"127.0.0.1:9", "127.0.0.1:443", "93.184.216.7:9", "93.184.216.8:5432", "169.254.169.254:443", "198.18.0.1:443"} {
		wantReset(t, p, netip.MustParseAddrPort(at))
	}
	g.AllowPrivate = false
	p, _ = startProxy(t, g, direct(to), nil)
	if got := p.DirectRanges(); len(got) != 4 {
		t.Errorf("DirectRanges without private addresses = %v", got)
	}
	for _, at := range []string{"10.0.0.5:5432", "127.0.0.1:5432"} {
		wantReset(t, p, netip.MustParseAddrPort(at))
	}
}

func TestDirectConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) { io.Copy(c, c) })
	p, _ := startProxy(t, sallyport.NetworkGrant{Allow: []string{"db.example.org:5432"}}, direct(to), &ProxyOptions{MaxConnections: 1})
	at := netip.AddrPortFrom(addressIn(t, p, "db.example.org"), 5432)
	c := dialInside(t, p, at)
	io.WriteString(c, "\x00")
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	wantReset(t, p, at)
}

// Drivers keep connections for long that they may need again.
func TestDirectConnectionsMayBeSilent(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) { io.Copy(c, c) })
	p, _ := startProxy(t, sallyport.NetworkGrant{Allow: []string{"db.example.org:5432"}}, direct(to), nil)
	p.idle = 500 * time.Millisecond // that of other connections
	at := netip.AddrPortFrom(addressIn(t, p, "db.example.org"), 5432)
	c := dialInside(t, p, at)
	for range 2 {
		io.WriteString(c, "\x00")
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(700 * time.Millisecond) // on real sockets nothing shows it sooner
	}
}

// TestLoopbackHasThreeSpellings: a program that was told localhost connects to
// 127.0.0.1 and names either, whichever of them the grant lists. The server is told
// the name of the grant.
func TestLoopbackHasThreeSpellings(t *testing.T) {
	t.Parallel()
	for _, granted := range []string{"localhost", "127.0.0.1"} {
		w := newWorld(t, answer("127.0.0.1"), tellHost)
		p, proxy := w.proxy(t, sallyport.NetworkGrant{Allow: []string{granted + ":8080", granted + ":80", granted + ":8443"}, AllowPrivate: true}, nil)
		for _, c := range []struct {
			to     string
			port   uint16
			header string
			passes bool
		}{
			{"127.0.0.1", 8080, "127.0.0.1:8080", true},
			{"127.0.0.1", 8080, "localhost:8080", true},
			{"::1", 8080, "[::1]:8080", true},
			{"127.0.0.1", 80, "127.0.0.1", true},
			{"127.0.0.1", 80, "localhost", true},
			{"127.0.0.1", 8080, "localhost:8081", false},
			{"127.0.0.1", 8080, "localhost", false},
			{"127.0.0.1", 8080, "127.0.0.2:8080", false},
			{"127.0.0.1", 8080, "evil.example:8080", false},
		} {
			conn := dialInside(t, p, netip.AddrPortFrom(netip.MustParseAddr(c.to), c.port))
			fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", c.header)
			out, _ := io.ReadAll(conn)
			if passed := strings.Contains(string(out), "this is "+granted) || c.header == granted+":8080" && strings.Contains(string(out), "this is"); passed != c.passes {
				t.Errorf("%s granted, %s:%d as %s = %q, want passed %t", granted, c.to, c.port, c.header, out, c.passes)
			}
		}
		for _, name := range []string{"localhost", "", "evil.example"} {
			s := tls.Client(dialInside(t, p, netip.MustParseAddrPort("127.0.0.1:8443")), &tls.Config{ServerName: name, InsecureSkipVerify: true})
			if err := s.Handshake(); (err == nil) != (name != "evil.example") {
				t.Errorf("%s granted, TLS with the name %q = %v", granted, name, err)
			}
		}
		// Outside of a connection to loopback a grant means its spelling.
		other := map[string]string{"localhost": "127.0.0.1", "127.0.0.1": "localhost"}[granted]
		if resp, err := clientVia(t, proxy, w.roots).Get("http://" + other + ":8080/"); err != nil || resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s granted, %s by the proxy = %v, %v, want 403", granted, other, resp, err)
		}
	}
}
