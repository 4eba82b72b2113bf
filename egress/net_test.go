package egress

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// world is a network in memory: every dialled address leads to one server,
// which speaks TLS when the client does. It works inside and outside of a
// synctest bubble.
type world struct {
	// answers maps a host to successive answers; the last one repeats. The
	// host "" stands for all others. No answer is a failed lookup.
	answers map[string][][]netip.Addr

	mu      sync.Mutex
	asked   map[string]int
	dialled []netip.AddrPort
	conns   chan net.Conn
	roots   *x509.CertPool
	ca      *x509.Certificate
	key     *ecdsa.PrivateKey
}

// newWorld starts the server; it ends with the test.
func newWorld(t testing.TB, answers map[string][][]netip.Addr, h http.HandlerFunc) *world {
	t.Helper()
	w := &world{answers: answers, asked: map[string]int{}, conns: make(chan net.Conn)}
	w.makeCA(t)
	var wg sync.WaitGroup
	srv := &http.Server{ErrorLog: log.New(io.Discard, "", 0)}
	srv.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		wg.Add(1)
		defer wg.Done()
		h(rw, r)
	})
	l := &memListener{conns: make(chan net.Conn), done: make(chan struct{})}
	wg.Go(func() { srv.Serve(l) })
	wg.Go(func() {
		for {
			select {
			case c := <-w.conns:
				wg.Go(func() { w.sniff(c, l) })
			case <-l.done:
				return
			}
		}
	})
	t.Cleanup(func() { srv.Close(); wg.Wait() })
	return w
}

// sniff hands a connection to the server, through TLS when the first byte is
// that of a handshake.
func (w *world) sniff(c net.Conn, l *memListener) {
	b := bufio.NewReader(c)
	first, err := b.Peek(1)
	if err != nil {
		c.Close()
		return
	}
	c = &peeked{Conn: c, r: b}
	if first[0] == 0x16 {
		c = tls.Server(c, &tls.Config{GetCertificate: w.certificate})
	}
	select {
	case l.conns <- c:
	case <-l.done:
		c.Close()
	}
}

// hasty is a connection that does not wait for its peer to take a farewell.
// TLS gives its last message five seconds, under locks for which others wait
// in a way that stops a bubble's clock.
type hasty struct{ net.Conn }

func (c hasty) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() {
		t = time.Unix(0, 0)
	}
	return c.Conn.SetWriteDeadline(t)
}

type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

type memListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *memListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *memListener) Addr() net.Addr { return &net.TCPAddr{} }

func (w *world) makeCA(t testing.TB) {
	t.Helper()
	var err error
	if w.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	w.ca = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, w.ca, w.ca, &w.key.PublicKey, w.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	w.roots = x509.NewCertPool()
	w.roots.AddCert(cert)
}

// certificate makes one for whatever name the client asks for.
func (w *world) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{hello.ServerName},
		NotBefore: w.ca.NotBefore, NotAfter: w.ca.NotAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, w.ca, &w.key.PublicKey, w.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: w.key}, err
}

func (w *world) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, ok := w.answers[host]
	if !ok {
		list = w.answers[""]
	}
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.9.8.7:53", IsNotFound: true}
	}
	i := min(w.asked[host], len(list)-1)
	w.asked[host]++
	return list[i], nil
}

func (w *world) dial(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, addr)
	w.mu.Unlock()
	here, there := net.Pipe()
	select {
	case w.conns <- hasty{there}:
		return hasty{here}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dials returns the addresses dialled so far.
func (w *world) dials() []netip.AddrPort {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]netip.AddrPort(nil), w.dialled...)
}

// client compiles a grant over the world.
func (w *world) client(t testing.TB, g sallyport.NetworkGrant, o Options) *Client {
	t.Helper()
	c, err := w.try(g, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (w *world) try(g sallyport.NetworkGrant, o Options) (*Client, error) {
	if o.Resolve == nil {
		o.Resolve = w.resolve
	}
	if o.Dial == nil {
		o.Dial = w.dial
	}
	o.RootCAs = w.roots
	return New(g, &o)
}

// bind returns the http.Client of a fresh call.
func bind(c *Client, o Observer) *http.Client {
	b := c.Bind(o)
	return b.Client()
}

// public answers every lookup with one public address.
func public() map[string][][]netip.Addr { return answer("93.184.215.14") }

// answer answers every lookup with the same addresses.
func answer(list ...string) map[string][][]netip.Addr {
	return map[string][][]netip.Addr{"": {addrs(list...)}}
}

func addrs(list ...string) []netip.Addr {
	out := []netip.Addr{}
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func allow(hosts ...string) sallyport.NetworkGrant { return sallyport.NetworkGrant{Allow: hosts} }

// wantRefused checks that err is a refusal whose text holds reason.
func wantRefused(t testing.TB, what string, err error, reason string) {
	t.Helper()
	e, ok := errors.AsType[*sallyport.Error](err)
	if !ok || !errors.Is(err, sallyport.ErrHostNotAllowed) || !strings.Contains(e.Error(), reason) {
		t.Errorf("%s = %v, want HOST_NOT_ALLOWED with %q", what, err, reason)
	}
}

// get sends a GET and reads the whole body.
func get(c *http.Client, url string) (string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// recorder is an observer.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Observe(target string, refusal *sallyport.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if refusal == nil {
		r.lines = append(r.lines, "allowed "+target)
		return
	}
	r.lines = append(r.lines, fmt.Sprintf("refused %s: %s", target, refusal.Detail))
}
