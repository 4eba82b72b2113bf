package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }

func TestEveryAnswerIsJudged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		answers []string
		private bool
		reason  string // "" means dialled
	}{
		{"public", []string{"93.184.215.14"}, false, ""},
		{"public twice", []string{"93.184.215.14", "2606:4700::1111"}, false, ""},
		{"private last", []string{"93.184.215.14", "1.1.1.1", "10.0.0.5"}, false, "resolves to a private address (RFC 1918)"},
		{"private first", []string{"10.0.0.5", "93.184.215.14"}, false, "resolves to a private address"},
		{"private, allowed", []string{"10.0.0.5", "93.184.215.14"}, true, ""},
		{"metadata, private allowed", []string{"10.0.0.5", "169.254.169.254"}, true, "resolves to a cloud metadata address"},
		{"mapped", []string{"::ffff:93.184.215.14"}, false, "IPv4-mapped"},
		{"mapped, private allowed", []string{"::ffff:10.0.0.1"}, true, "IPv4-mapped"},
		{"zone", []string{"fe80::1%eth0"}, true, "zone"},
		{"beyond what is tried", append(strings.Split(strings.Repeat("1.1.1.1 ", 99)[:98*8-1], " "), "127.0.0.1"), false, "loopback"},
		{"denied address", []string{"93.184.215.99"}, false, "resolves to an address that is on the deny list"},
		{"none", nil, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, answer(tt.answers...), ok)
			g := sallyport.NetworkGrant{Allow: []string{"a.example"}, Deny: []string{"93.184.215.99"}, AllowPrivate: tt.private}
			_, err := get(bind(w.client(t, g, Options{}), nil), "http://a.example/")
			switch {
			case tt.reason != "":
				wantRefused(t, "Get", err, "a.example "+"resolves")
				wantRefused(t, "Get", err, tt.reason)
				if d := w.dials(); len(d) > 0 {
					t.Errorf("dialled %v", d)
				}
			case tt.answers == nil:
				if err == nil || errors.Is(err, sallyport.ErrHostNotAllowed) {
					t.Errorf("Get = %v, want a failure that is no refusal", err)
				}
			case err != nil || w.dials()[0].Addr() != netip.MustParseAddr(tt.answers[0]):
				t.Errorf("Get = %v, dialled %v, want %s", err, w.dials(), tt.answers[0])
			}
		})
	}
}

func TestRefusalDoesNotShowTheAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answer("10.11.12.13"), ok)
	_, err := get(bind(w.client(t, allow("a.example"), Options{}), nil), "http://a.example/")
	e, _ := errors.AsType[*sallyport.Error](err)
	if strings.Contains(e.Error(), "10.11") || e.Err == nil || !strings.Contains(e.Err.Error(), "10.11.12.13") {
		t.Errorf("error = %v with cause %v, want the address in the cause only", e, e.Err)
	}
}

func TestFailedLookupIsAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, ok)
	_, err := get(bind(w.client(t, allow("a.example"), Options{}), nil), "http://a.example/")
	e, _ := errors.AsType[*sallyport.Error](err)
	if e == nil || e.Error() != "a.example could not be resolved" || errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("Get = %v, want a failed lookup without the resolver's text", err)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
		t.Errorf("Get = %v, want the cause kept", err)
	}
}

func TestResolvedOncePerConnection(t *testing.T) {
	t.Parallel()
	answers := map[string][][]netip.Addr{"": {addrs("93.184.215.14"), addrs("127.0.0.1")}}
	w := newWorld(t, answers, ok)
	cl := w.client(t, allow("a.example"), Options{})
	for range 3 {
		if _, err := get(bind(cl, nil), "http://a.example/"); err != nil {
			t.Fatalf("over the kept connection: %v", err)
		}
	}
	cl.Close()
	_, err := get(bind(cl, nil), "http://a.example/")
	wantRefused(t, "Get over a new connection", err, "resolves to a private address (loopback)")
	if d := w.dials(); len(d) != 1 {
		t.Errorf("dialled %v, want one connection", d)
	}
}

func TestConnectionsAreNotSharedBetweenGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), ok)
	for _, g := range []sallyport.NetworkGrant{allow("a.example"), allow("a.example", "b.example")} {
		if _, err := get(bind(w.client(t, g, Options{}), nil), "http://a.example/"); err != nil {
			t.Fatal(err)
		}
	}
	if d := w.dials(); len(d) != 2 {
		t.Errorf("dialled %v, want a connection each", d)
	}
}

func TestDenyBeatsAllow(t *testing.T) {
	t.Parallel()
	answers := public()
	answers["a.example"], answers["xn--bcher-kva.example"] = [][]netip.Addr{addrs("93.184.215.15")}, [][]netip.Addr{addrs("93.184.215.16")}
	w := newWorld(t, answers, ok)
	g := sallyport.NetworkGrant{
		Allow: []string{"*", "a.example:8443", "*.b.example:8443", "1.1.1.1"},
		Deny:  []string{"a.example", "*.b.example", "bücher.example", "1.1.1.1"},
	}
	c := bind(w.client(t, g, Options{}), nil)
	for _, u := range []string{
		"http://a.example/", "http://A.EXAMPLE/", "http://a.example./", "http://a.example:8443/", "http://x.b.example/",
		"http://x.y.b.example:8443/", "http://xn--bcher-kva.example/", "http://BÜCHER.example/", "http://ａ.example/", "http://1.1.1.1/",
	} {
		_, err := get(c, u)
		wantRefused(t, u, err, "is on the deny list")
	}
	for _, u := range []string{"http://b.example/", "http://c.example/", "http://xa.example/"} {
		if _, err := get(c, u); err != nil {
			t.Errorf("Get(%s) = %v, want it allowed", u, err)
		}
	}
}

func TestDialContext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, network, address, reason string
		dialled                        string
	}{
		{"name", "tcp", "db.example:5432", "", "93.184.215.14:5432"},
		{"canonical form", "tcp", "DB.example.:5432", "", "93.184.215.14:5432"},
		{"IPv4 only", "tcp4", "db.example:5432", "", "93.184.215.14:5432"},
		{"IPv6 only", "tcp6", "db.example:5432", "", "[2606:4700::1111]:5432"},
		{"literal", "tcp", "[2606:4700::2222]:443", "", "[2606:4700::2222]:443"},
		{"other port", "tcp", "db.example:22", "db.example:22 is not in the declared allowedHosts", ""},
		{"other host", "tcp", "evil.example:443", "evil.example is not in the declared allowedHosts", ""},
		{"metadata", "tcp", "169.254.169.254:80", "169.254.169.254 is a cloud metadata address", ""},
		{"loopback", "tcp", "[::1]:5432", "::1 is a private address (loopback)", ""},
		{"octal", "tcp", "0177.0.0.1:80", "unusual spelling", ""},
		{"zone", "tcp", "[fe80::1%lo]:80", "not a host name", ""},
		{"no port", "tcp", "db.example", "has no port", ""},
		{"port name", "tcp", "db.example:http", "not a host name", ""},
		{"empty", "tcp", "", "not a host name", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, answer("93.184.215.14", "2606:4700::1111"), ok)
			b := w.client(t, allow("db.example:5432", "2606:4700::2222"), Options{}).Bind(nil)
			conn, err := b.DialContext(t.Context(), tt.network, tt.address)
			if tt.reason != "" {
				wantRefused(t, "DialContext", err, tt.reason)
			} else if err != nil {
				t.Errorf("DialContext = %v", err)
			}
			if conn != nil {
				conn.Close()
			}
			got := ""
			for _, d := range w.dials() {
				got += d.String()
			}
			if got != tt.dialled {
				t.Errorf("dialled %s, want %s", got, tt.dialled)
			}
		})
	}
}

func TestDialContextOtherNetworks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), ok)
	b := w.client(t, allow("*"), Options{}).Bind(nil)
	for _, network := range []string{"udp", "unix", "ip", "", "TCP"} {
		if conn, err := b.DialContext(t.Context(), network, "a.example:80"); err == nil {
			conn.Close()
			t.Errorf("DialContext(%q) succeeds", network)
		}
	}
	if _, err := b.DialContext(t.Context(), "tcp6", "a.example:80"); err == nil || errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("tcp6 to a host with IPv4 only = %v, want a failure that is no refusal", err)
	}
}

// script is a dialer whose addresses fail, hang or answer.
type script map[string]func(ctx context.Context) (net.Conn, error)

func (s script) dial(ctx context.Context, _ string, a netip.AddrPort) (net.Conn, error) {
	return s[a.Addr().String()](ctx)
}

func hang(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }

func refuse(context.Context) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4)}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func connectAfter(d time.Duration, closed *int) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		time.Sleep(d)
		here, _ := net.Pipe()
		return &counted{here, closed}, nil
	}
}

type counted struct {
	net.Conn
	closed *int
}

func (c *counted) Close() error { *c.closed++; return c.Conn.Close() }

func TestAddressesAreTriedInTurn(t *testing.T) {
	t.Parallel()
	var closed int
	tests := []struct {
		name   string
		first  func(context.Context) (net.Conn, error)
		second func(context.Context) (net.Conn, error)
		after  time.Duration
		text   string // of the error; "" means connected
		closed int
	}{
		{"first answers", connectAfter(0, &closed), hang, 0, "", 0},
		{"first refuses", refuse, connectAfter(0, &closed), 0, "", 0},
		{"first hangs", hang, connectAfter(0, &closed), attemptDelay, "", 0},
		{"first is slow but faster", connectAfter(attemptDelay+time.Second, &closed), connectAfter(2*time.Second, &closed), attemptDelay + 2*time.Second, "", 1},
		{"both refuse", refuse, refuse, 0, "a.example:81 could not be reached: connection refused", 0},
		{"both hang", hang, hang, connectTimeout, "a.example:81 could not be reached", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed = 0
				p, err := NewPolicy(allow("a.example:81"))
				if err != nil {
					t.Fatal(err)
				}
				d := newPolicyDialer(p, &DialOptions{
					Resolve: func(context.Context, string) ([]netip.Addr, error) {
						return addrs("2606:4700::1", "1.1.1.1", "1.1.1.1"), nil
					},
					Dial: script{"2606:4700::1": tt.first, "1.1.1.1": tt.second}.dial,
				})
				start := time.Now()
				conn, err := d.Dial(t.Context(), "tcp", "a.example", 81)
				if (err == nil) != (tt.text == "") || err != nil && err.Error() != tt.text {
					t.Errorf("Dial = %v, want %q", err, tt.text)
				}
				if got := time.Since(start); got != tt.after || closed != tt.closed {
					t.Errorf("took %s and closed %d, want %s and %d", got, closed, tt.after, tt.closed)
				}
				if conn != nil {
					conn.Close()
				}
			})
		})
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	var list []netip.Addr
	for i := range 100 {
		list = append(list, netip.AddrFrom4([4]byte{1, 1, 1, byte(i)}))
	}
	got, err := selectAddresses("tcp", list, 80)
	if err != nil || len(got) != maxAttempts {
		t.Errorf("pick = %d addresses, %v, want %d", len(got), err, maxAttempts)
	}
}

func TestSystemDialerJudgesTheSocket(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(ok))
	defer srv.Close()
	addr := netip.MustParseAddrPort(srv.Listener.Addr().String())
	for _, private := range []bool{false, true} {
		p, err := NewPolicy(sallyport.NetworkGrant{AllowPrivate: private})
		if err != nil {
			t.Fatal(err)
		}
		// Past all judgement of names and answers, straight to the socket.
		conn, err := newPolicyDialer(p, nil).dial(t.Context(), "tcp", addr)
		if private {
			if err != nil {
				t.Fatalf("dial with private addresses allowed = %v", err)
			}
			conn.Close()
			continue
		}
		wantRefused(t, "dial", err, "127.0.0.1 is a private address (loopback)")
	}
	if err := newPolicyDialer(&Policy{}, nil).checkSocket(t.Context(), "unix", "/run/docker.sock", nil); err == nil {
		t.Error("control lets a socket pass that has no address")
	}
}

func TestSystemResolverAndDialer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(ok))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost"} {
		g := sallyport.NetworkGrant{Allow: []string{host + ":" + port}, AllowPrivate: true}
		c, err := New(g, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := get(bind(c, nil), "http://"+host+":"+port+"/"); text != "ok" || err != nil {
			t.Errorf("Get(%s) = %q, %v", host, text, err)
		}
		c.Close()
		g.AllowPrivate = false
		if c, err = New(g, nil); err != nil {
			t.Fatal(err)
		}
		_, err = get(bind(c, nil), "http://"+host+":"+port+"/")
		wantRefused(t, "Get", err, host+" is a private address (loopback)")
	}
}

func TestObserverSeesRawConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), ok)
	o := &recorder{}
	b := w.client(t, allow("db.example:5432"), Options{}).Bind(o)
	for _, address := range []string{"db.example:5432", "evil.example:5432", "0x7f.1:80"} {
		if conn, err := b.DialContext(t.Context(), "tcp", address); err == nil {
			conn.Close()
		}
	}
	want := []string{
		"allowed db.example:5432",
		"refused evil.example:5432: evil.example:5432 is not in the declared allowedHosts",
		`refused : "0x7f.1:80" is an unusual spelling of an address, a private address (loopback)`,
	}
	if diff := cmp.Diff(want, o.lines); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/big" {
			w.Write(make([]byte, 100))
			return
		}
		io.WriteString(w, r.Proto+" "+r.Host)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS() // its certificate is for example.com
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	c, err := New(allow("example.com"), &Options{
		DialOptions: DialOptions{
			Resolve: func(context.Context, string) ([]netip.Addr, error) { return addrs("93.184.215.14"), nil },
			Dial: func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, srv.Listener.Addr().String())
			},
		},
		RootCAs: roots, MaxResponseBytes: 99,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := get(bind(c, nil), "https://Example.COM./"); got != "HTTP/2.0 example.com" || err != nil {
		t.Errorf("Get = %q, %v, want HTTP/2 to the canonical host", got, err)
	}
	if got, err := get(bind(c, nil), "https://example.com/big"); len(got) != 99 || err == nil {
		t.Errorf("Get = %d bytes, %v, want the bound", len(got), err)
	}
}
