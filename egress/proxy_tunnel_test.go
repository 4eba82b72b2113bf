package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestProxyPassesAGreetingFirst(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) {
		io.WriteString(c, "220 ready\r\n")
		io.Copy(c, c)
	})
	p, addr := startProxy(t, allow("a.example:25"), direct(to), nil)
	c, r := tunnelTo(t, addr, "a.example:25")
	if line, err := r.ReadString('\n'); line != "220 ready\r\n" {
		t.Fatalf("greeting = %q, %v, before the child has said anything", line, err)
	}
	io.WriteString(c, "EHLO x\r\n")
	if line, _ := r.ReadString('\n'); line != "EHLO x\r\n" {
		t.Errorf("echo = %q", line)
	}
	c.Close()
	p.Close()
	if u := findUse(t, p, "a.example", true); u.Sent != 8 || u.Received != 19 || u.Connections != 1 || u.Port != 25 {
		t.Errorf("recorded %+v, want 8 bytes sent and 19 received", u)
	}
}

// TestProxyRelaysHalfClose has a server that answers only to the end of what
// it is told, and one that ends first.
func TestProxyRelaysHalfClose(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	to := listen(t, func(c *net.TCPConn) {
		b, _ := io.ReadAll(c)
		c.Write(b)
	})
	_, addr := startProxy(t, allow("a.example:7"), direct(to), nil)
	c, r := tunnelTo(t, addr, "a.example:7")
	go func() {
		c.Write(big)
		c.(*net.TCPConn).CloseWrite()
	}()
	if b, err := io.ReadAll(r); !bytes.Equal(b, big) {
		t.Errorf("echo of %d bytes = %d bytes, %v", len(big), len(b), err)
	}
	got := make(chan []byte, 1)
	to = listen(t, func(c *net.TCPConn) {
		io.WriteString(c, "bye")
		c.CloseWrite()
		b, _ := io.ReadAll(c)
		got <- b
	})
	_, addr = startProxy(t, allow("a.example:7"), direct(to), nil)
	c, r = tunnelTo(t, addr, "a.example:7")
	if b, _ := io.ReadAll(r); string(b) != "bye" {
		t.Fatalf("read %q", b)
	}
	io.WriteString(c, "last words")
	c.Close()
	if b := <-got; string(b) != "last words" {
		t.Errorf("the server got %q after its own end", b)
	}
}

// TestProxyPassesWhatCameWithTheRequest: a child need not wait for the answer
// to CONNECT.
func TestProxyPassesWhatCameWithTheRequest(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) { io.Copy(c, c) })
	_, addr := startProxy(t, allow("a.example:7"), direct(to), nil)
	if got := say5(t, addr, "CONNECT a.example:7 HTTP/1.1\r\n\r\nearly"); got != established+"early" {
		t.Errorf("answer = %q", got)
	}
}

func TestProxyFailures(t *testing.T) {
	t.Parallel()
	refused := func(context.Context, string, netip.AddrPort) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 1}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	slow := func(context.Context, string, netip.AddrPort) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}
	}
	broken := func(ctx context.Context, n string, a netip.AddrPort) (net.Conn, error) {
		return direct(listen(t, func(c *net.TCPConn) { io.WriteString(c, "nonsense\r\n\r\n") })).Dial(ctx, n, a)
	}
	lost := func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("server 10.9.8.7:53") }
	tests := []struct {
		name   string
		d      *DialOptions
		status string
		text   string
	}{
		{"refused", &DialOptions{Dial: refused}, "502", "a.example could not be reached: connection refused"},
		{"timeout", &DialOptions{Dial: slow}, "504", "a.example could not be reached"},
		{"no such name", &DialOptions{Resolve: lost}, "502", "a.example could not be resolved"},
		{"no HTTP", &DialOptions{Dial: broken}, "502", "a.example did not answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.d.Resolve == nil {
				tt.d.Resolve = direct("").Resolve
			}
			p, addr := startProxy(t, allow("a.example"), tt.d, nil)
			requests := []string{"GET http://a.example/ HTTP/1.1\r\n\r\n", "CONNECT a.example:443 HTTP/1.1\r\n\r\n"}
			if tt.name == "no HTTP" {
				requests = requests[:1]
			}
			for _, request := range requests {
				got := say(t, addr, request)
				if status(got) != tt.status || !strings.Contains(got, "\r\n\r\n"+tt.text) || strings.Contains(got, "10.9.8.7") {
					t.Errorf("%q = %q, want %s with %q", request, got, tt.status, tt.text)
				}
			}
			p.Close()
			if u := findUse(t, p, "a.example", true); u.Why == "" || strings.Contains(u.Why, "10.9.8.7") {
				t.Errorf("recorded %+v, want the failure", u)
			}
		})
	}
}

// TestProxyEndsSlowConnections: neither a head that drips nor silence keeps a
// connection.
func TestProxyEndsSlowConnections(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	heads := &ProxyOptions{HeadTimeout: 30 * time.Millisecond, IdleTimeout: time.Hour}
	idles := &ProxyOptions{HeadTimeout: time.Hour, IdleTimeout: 30 * time.Millisecond}
	tests := []struct {
		name, sent string
		o          *ProxyOptions
	}{
		{"nothing", "", heads},
		{"half a line", "GET http://a.exa", heads},
		{"half a head", "GET http://a.example/ HTTP/1.1\r\nX: y\r\n", heads},
		{"half a greeting", "\x05", heads},
		{"half of a SOCKS request", "\x05\x01\x00\x05\x01", heads},
		{"half a hello", "CONNECT a.example:443 HTTP/1.1\r\n\r\n\x16\x03\x01", heads},
		{"a second request in halves", "GET http://a.example/ HTTP/1.1\r\n\r\nGET", heads},
		{"silence", "", idles},
		{"a silent tunnel", "CONNECT a.example:80 HTTP/1.1\r\n\r\n", idles},
		{"half a body", "POST http://a.example/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe", idles},
		{"a server that does not answer", "GET http://a.example/ HTTP/1.1\r\n\r\n", idles},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := direct(to)
			if tt.name == "a second request in halves" {
				w := newWorld(t, public(), ok)
				d.Dial = w.dial
			}
			_, addr := startProxy(t, allow("a.example"), d, tt.o)
			c := connectTo(t, addr)
			io.WriteString(c, tt.sent)
			if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection is kept")
			}
		})
	}
}

func TestProxyBoundsConnections(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	_, addr := startProxy(t, allow("a.example:7"), direct(to), &ProxyOptions{MaxConnections: 2})
	var first []net.Conn
	for range 2 {
		c, _ := tunnelTo(t, addr, "a.example:7")
		first = append(first, c)
	}
	if got := say(t, addr, "CONNECT a.example:7 HTTP/1.1\r\n\r\n"); status(got) != "503" {
		t.Errorf("the third connection = %q, want 503", got)
	}
	// Those that say nothing count too, and beyond twice the bound no client is
	// even told.
	var silent []*net.TCPConn
	for range 4 {
		silent = append(silent, connectTo(t, addr))
	}
	if b, err := io.ReadAll(silent[3]); len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("beyond twice the bound: %q, %v, want the end", b, err)
	}
	for _, c := range silent {
		c.Close()
	}
	for _, c := range first {
		c.Close()
	}
	for range 1000 {
		if status(say5(t, addr, "GET http://b.example/ HTTP/1.1\r\n\r\n")) == "403" {
			return
		}
	}
	t.Error("closed connections are still counted")
}

// TestProxyLeavesNothing closes a proxy in the middle of everything.
func TestProxyLeavesNothing(t *testing.T) {
	held := make(chan struct{})
	to := listen(t, func(c *net.TCPConn) { <-held })
	before := goleak.IgnoreCurrent()
	policy, err := NewPolicy(allow("a.example"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProxy(policy, direct(to), nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	for _, text := range []string{
		"", "GET http", "CONNECT a.example:80 HTTP/1.1\r\n\r\n", "CONNECT a.example:443 HTTP/1.1\r\n\r\n\x16",
		"GET http://a.example/ HTTP/1.1\r\n\r\n", "POST http://a.example/ HTTP/1.1\r\nContent-Length: 9\r\n\r\nx",
		"\x05\x01\x00\x05\x01\x00\x03\x09a.example\x00\x50", "GET http://b.example/ HTTP/1.1\r\n\r\n",
	} {
		io.WriteString(connectTo(t, l.Addr().String()), text)
	}
	c, _ := tunnelTo(t, l.Addr().String(), "a.example:80")
	p.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve = %v", err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a tunnel reads %v after Close", err)
	}
	p.Close()
	if err := p.Serve(l); err != nil {
		t.Errorf("Serve of a closed proxy = %v", err)
	}
	close(held)
	goleak.VerifyNone(t, before)
}

func TestProxyKeepsConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/stream" {
			rw.(http.Flusher).Flush()
		}
		rw.Write(append([]byte(r.URL.Path+" "), b...))
	})
	_, addr := w.proxy(t, allow("a.example"), nil)
	got := say(t, addr, "POST http://a.example/1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"+
		"POST http://a.example/2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ndef\r\n0\r\nX: y\r\n\r\n"+
		"HEAD http://a.example/3 HTTP/1.1\r\n\r\n"+
		"GET http://a.example/stream HTTP/1.1\r\n\r\n"+
		"GET http://a.example/5 HTTP/1.1\r\nConnection: close\r\n\r\n"+
		"GET http://a.example/6 HTTP/1.1\r\n\r\n")
	for _, want := range []string{"/1 abc", "/2 def", "8\r\n/stream \r\n0\r\n\r\n", "\r\n\r\n/5 "} {
		if !strings.Contains(got, want) {
			t.Errorf("answers = %q, want %q among them", got, want)
		}
	}
	if n := strings.Count(got, "HTTP/1.1 200 OK"); n != 5 {
		t.Errorf("%d answers, want 5: %q", n, got)
	}
	if d := w.dials(); len(d) != 1 {
		t.Errorf("dialled %v, want one connection for all", d)
	}
}

func TestProxyExpect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			rw.WriteHeader(http.StatusForbidden)
			return
		}
		io.Copy(rw, r.Body)
	})
	_, addr := w.proxy(t, allow("a.example"), nil)
	c := connectTo(t, addr)
	io.WriteString(c, "POST http://a.example/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n")
	b := make([]byte, 25)
	if _, err := io.ReadFull(c, b); string(b) != "HTTP/1.1 100 Continue\r\n\r\n" {
		t.Fatalf("read %q, %v, want to be told to go on", b, err)
	}
	io.WriteString(c, "ok")
	if rest, _ := io.ReadAll(c); !strings.HasSuffix(string(rest), "\r\n\r\nok") {
		t.Errorf("answer = %q", rest)
	}
	if got := say(t, addr, "GET http://a.example/ HTTP/1.0\r\n\r\n"); status(got) != "200" {
		t.Errorf("HTTP/1.0 = %q", got)
	}
}
