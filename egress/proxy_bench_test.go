package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// BenchmarkProxy compares a connection on loopback, one byte there and back,
// with the same through a tunnel; the difference is what the proxy adds.
func BenchmarkProxy(b *testing.B) {
	to := listen(b, func(c *net.TCPConn) { io.Copy(c, c) })
	addrPort := netip.MustParseAddrPort(to)
	d := &DialOptions{Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{addrPort.Addr()}, nil }}
	g := sallyport.NetworkGrant{Allow: []string{"a.example:" + strings.TrimPrefix(to, "127.0.0.1:")}, AllowPrivate: true}
	_, addr := startProxy(b, g, d, nil)
	request := []byte("CONNECT " + g.Allow[0] + " HTTP/1.1\r\n\r\n")
	ping := func(b *testing.B, c net.Conn, r io.Reader) {
		var one [1]byte
		if _, err := c.Write(one[:]); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(r, one[:]); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			c, err := net.Dial("tcp", to)
			if err != nil {
				b.Fatal(err)
			}
			ping(b, c, c)
		}
	})
	b.Run("CONNECT", func(b *testing.B) {
		b.ReportAllocs()
		answer := make([]byte, len(established))
		for b.Loop() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			c.Write(request)
			if _, err := io.ReadFull(c, answer); err != nil {
				b.Fatal(err)
			}
			ping(b, c, c)
		}
	})
}

// BenchmarkProxyTLS is a new connection with a handshake and one request. In
// a tunnel the hello is read on the way; with a splice TLS ends in the proxy,
// which keeps its own connection to the server.
func BenchmarkProxyTLS(b *testing.B) {
	srv := httptest.NewTLSServer(http.HandlerFunc(ok))
	defer srv.Close()
	to := netip.MustParseAddrPort(srv.Listener.Addr().String())
	host := "example.com:" + strconv.Itoa(int(to.Port()))
	d := &DialOptions{Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{to.Addr()}, nil }}
	g := sallyport.NetworkGrant{Allow: []string{host}, AllowPrivate: true}
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	_, tunnel := startProxy(b, g, d, nil)
	o := spliceFor(host)
	o.RootCAs = roots
	p, splice := startProxy(b, g, d, o)
	all := roots.Clone()
	all.AppendCertsFromPEM(p.CA())
	for _, way := range []struct{ name, addr string }{{"direct", to.String()}, {"CONNECT", tunnel}, {"splice", splice}} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				c, err := net.Dial("tcp", way.addr)
				if err != nil {
					b.Fatal(err)
				}
				if way.name != "direct" {
					io.WriteString(c, "CONNECT "+host+" HTTP/1.1\r\n\r\n")
					if _, err := io.ReadFull(c, make([]byte, len(established))); err != nil {
						b.Fatal(err)
					}
				}
				s := tls.Client(c, &tls.Config{ServerName: "example.com", RootCAs: all})
				io.WriteString(s, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
				if text, err := io.ReadAll(s); err != nil || len(text) == 0 {
					b.Fatal(err)
				}
				c.Close()
			}
		})
	}
}

// BenchmarkProxyThroughput moves bytes through an open tunnel.
func BenchmarkProxyThroughput(b *testing.B) {
	to := listen(b, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	_, addr := startProxy(b, allow("a.example:9"), direct(to), nil)
	chunk := make([]byte, 1<<20)
	through, _ := tunnelTo(b, addr, "a.example:9")
	plain, err := net.Dial("tcp", to)
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close()
	for name, c := range map[string]net.Conn{"direct": plain, "CONNECT": through} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(chunk)))
			for b.Loop() {
				if _, err := c.Write(chunk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkProxyRequest is a plain request over kept connections.
func BenchmarkProxyRequest(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(ok))
	defer srv.Close()
	g := sallyport.NetworkGrant{Allow: []string{srv.Listener.Addr().String()}, AllowPrivate: true}
	_, addr := startProxy(b, g, nil, nil)
	for name, c := range map[string]*http.Client{"direct": srv.Client(), "proxy": clientVia(b, addr, nil)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := get(c, srv.URL); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHelloName is what the look into a ClientHello costs.
func BenchmarkHelloName(b *testing.B) {
	data := hello(b, "a.example")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := helloName(bufio.NewReaderSize(strings.NewReader(string(data)), maxHead)); err != nil {
			b.Fatal(err)
		}
	}
}
