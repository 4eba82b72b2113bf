package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// patience bounds what a test waits for on real sockets; it only ends a test
// that hangs.
const patience = 20 * time.Second

// proxy serves a proxy over the world on a real listener until the test ends.
func (w *world) proxy(t testing.TB, g sallyport.NetworkGrant, o *ProxyOptions) (*Proxy, string) {
	t.Helper()
	if o == nil {
		o = &ProxyOptions{}
	}
	o.RootCAs = w.roots
	return startProxy(t, g, &DialOptions{Resolve: w.resolve, Dial: w.dial}, o)
}

func startProxy(t testing.TB, g sallyport.NetworkGrant, d *DialOptions, o *ProxyOptions) (*Proxy, string) {
	t.Helper()
	policy, err := NewPolicy(g)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProxy(policy, d, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	t.Cleanup(func() {
		p.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v after Close, want nil", err)
		}
	})
	return p, l.Addr().String()
}

// direct resolves every name to a public address and dials the given one.
func direct(to string) *DialOptions {
	return &DialOptions{
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return addrs("93.184.215.14"), nil },
		Dial: func(ctx context.Context, _ string, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", to)
		},
	}
}

// listen serves each connection of a raw listener.
func listen(t testing.TB, serve func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			}()
		}
	}()
	return l.Addr().String()
}

// clientVia is an http.Client that uses the proxy, as a child's would.
func clientVia(t testing.TB, proxy string, roots *x509.CertPool) *http.Client {
	t.Helper()
	u := &url.URL{Scheme: "http", Host: proxy}
	tr := &http.Transport{Proxy: http.ProxyURL(u), TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// connectTo opens a connection to the proxy.
func connectTo(t testing.TB, proxy string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

// say sends text over a new connection and returns all of the answer.
func say(t testing.TB, proxy, text string) string {
	t.Helper()
	c := connectTo(t, proxy)
	defer c.Close()
	io.WriteString(c, text)
	b, _ := io.ReadAll(c)
	return string(b)
}

// tunnelTo opens a tunnel with CONNECT.
func tunnelTo(t testing.TB, proxy, target string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c := connectTo(t, proxy)
	io.WriteString(c, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"})
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("CONNECT %s = %v, %v", target, resp, err)
	}
	return c, r
}

// find returns the entry of a host.
func findUse(t testing.TB, p *Proxy, host string, allowed bool) sallyport.HostUse {
	t.Helper()
	for _, u := range p.Uses() {
		if u.Host == host && u.Allowed == allowed {
			return u
		}
	}
	t.Errorf("Uses = %+v, want an entry for %s, allowed %t", p.Uses(), host, allowed)
	return sallyport.HostUse{}
}

// status returns the number in a raw answer.
func status(answer string) string {
	line, _, _ := strings.Cut(answer, "\r\n")
	_, code, _ := strings.Cut(line, " ")
	code, _, _ = strings.Cut(code, " ")
	return code
}
