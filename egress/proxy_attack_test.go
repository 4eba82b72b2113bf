package egress

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestProxyRefuses sends what a hostile child would. Nothing of it may reach
// a server.
func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxHead)
	tests := []struct {
		name, request string
		status        string
		text          string
	}{
		{"other host", "CONNECT b.example:443 HTTP/1.1\r\n\r\n", "403", "HOST_NOT_ALLOWED: b.example is not in the declared allowedHosts"},
		{"other port", "CONNECT a.example:22 HTTP/1.1\r\n\r\n", "403", "HOST_NOT_ALLOWED: a.example:22 is not"},
		{"itself", "CONNECT localhost:$PORT HTTP/1.1\r\n\r\n", "403", "HOST_NOT_ALLOWED: localhost is a private address (loopback)"},
		{"itself by address", "CONNECT 127.0.0.1:$PORT HTTP/1.1\r\n\r\n", "403", "loopback"},
		{"itself, absolute", "GET http://127.0.0.1:$PORT/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "403", "loopback"},
		{"metadata", "CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n", "403", "a cloud metadata address"},
		{"metadata, mapped", "CONNECT [::ffff:169.254.169.254]:80 HTTP/1.1\r\n\r\n", "403", "a cloud metadata address"},
		{"metadata by name", "GET http://metadata.google.internal/ HTTP/1.1\r\n\r\n", "403", "a cloud metadata address"},
		{"name of a private address", "CONNECT inside.example:443 HTTP/1.1\r\n\r\n", "403", "HOST_NOT_ALLOWED: inside.example resolves to a private address"},
		{"same, plain", "GET http://inside.example/ HTTP/1.1\r\n\r\n", "403", "HOST_NOT_ALLOWED: inside.example resolves to a private address"},
		{"Host header of a granted host", "GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "403", "b.example is not"},
		{"CONNECT with such a header", "CONNECT b.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", "403", "b.example is not"},

		{"origin form", "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "400", ""},
		{"asterisk form", "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n", "400", ""},
		{"https without CONNECT", "GET https://a.example/ HTTP/1.1\r\n\r\n", "400", "needs CONNECT"},
		{"other scheme", "GET file:///etc/passwd HTTP/1.1\r\n\r\n", "400", ""},
		{"user info", "GET http://u:hunter22@a.example/ HTTP/1.1\r\n\r\n", "400", "carries user info"},
		{"user info that hides the host", "GET http://a.example@b.example/ HTTP/1.1\r\n\r\n", "400", "carries user info"},
		{"fragment", "GET http://a.example/#@b.example HTTP/1.1\r\n\r\n", "400", "fragment"},
		{"backslash", "GET http://a.example\\@b.example/ HTTP/1.1\r\n\r\n", "400", ""},
		{"hexadecimal address", "CONNECT 0x7f000001:80 HTTP/1.1\r\n\r\n", "400", "unusual spelling"},

		{"CONNECT without a port", "CONNECT a.example HTTP/1.1\r\n\r\n", "400", "without a port"},
		{"CONNECT with an empty port", "CONNECT a.example: HTTP/1.1\r\n\r\n", "400", ""},
		{"CONNECT with port 0", "CONNECT a.example:0 HTTP/1.1\r\n\r\n", "400", ""},
		{"CONNECT with two ports", "CONNECT a.example:443:22 HTTP/1.1\r\n\r\n", "400", ""},
		{"CONNECT with a signed port", "CONNECT a.example:+443 HTTP/1.1\r\n\r\n", "400", ""},
		{"CONNECT with a URL", "CONNECT https://a.example:443/ HTTP/1.1\r\n\r\n", "400", ""},
		{"CONNECT with user info", "CONNECT hunter22@a.example:443 HTTP/1.1\r\n\r\n", "400", ""},
		{"CONNECT with a path", "CONNECT a.example:443/x HTTP/1.1\r\n\r\n", "400", ""},
		{"CONNECT with a zone", "CONNECT [fe80::1%lo]:443 HTTP/1.1\r\n\r\n", "400", ""},
		{"CONNECT with a name in brackets", "CONNECT [a.example]:443 HTTP/1.1\r\n\r\n", "400", ""},
		{"CONNECT with a bare IPv6 address", "CONNECT ::1:443 HTTP/1.1\r\n\r\n", "400", ""},
		{"CONNECT with a body", "CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "400", "CONNECT with a body"},
		{"CONNECT with a NUL", "CONNECT b.example\x00.a.example:443 HTTP/1.1\r\n\r\n", "400", ""},
		{"lower-case connect", "connect a.example:443 HTTP/1.1\r\n\r\n", "400", ""},
		{"TRACE", "TRACE http://a.example/ HTTP/1.1\r\n\r\n", "403", "may not be asked to TRACE"},

		{"both lengths", "POST http://a.example/ HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", "both"},
		{"two lengths", "POST http://a.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", "400", "repeated"},
		{"two lengths, other case", "POST http://a.example/ HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 2\r\n\r\nxx", "400", "repeated"},
		{"list of lengths", "POST http://a.example/ HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\nx", "400", "Content-Length is not a number"},
		{"signed length", "POST http://a.example/ HTTP/1.1\r\nContent-Length: +1\r\n\r\nx", "400", "Content-Length is not a number"},
		{"negative length", "POST http://a.example/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400", "Content-Length is not a number"},
		{"huge length", "POST http://a.example/ HTTP/1.1\r\nContent-Length: 9223372036854775808\r\n\r\n", "400", "Content-Length is not a number"},
		{"other coding", "POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "400", "Transfer-Encoding is not chunked"},
		{"obscure coding", "POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", "400", "control"},
		{"coding in HTTP/1.0", "POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", "Transfer-Encoding is not chunked"},
		{"two hosts", "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n", "400", "repeated"},
		{"other expectation", "POST http://a.example/ HTTP/1.1\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\nx", "400", "Expect is not"},
		{"folded line", "GET http://a.example/ HTTP/1.1\r\nX: 1\r\n Transfer-Encoding: chunked\r\n\r\n", "400", "header is not"},
		{"blank before the colon", "GET http://a.example/ HTTP/1.1\r\nContent-Length : 1\r\n\r\nx", "400", "header is not"},
		{"no colon", "GET http://a.example/ HTTP/1.1\r\nnonsense\r\n\r\n", "400", "header is not"},
		{"no name", "GET http://a.example/ HTTP/1.1\r\n: x\r\n\r\n", "400", "header is not"},
		{"NUL in a header", "GET http://a.example/ HTTP/1.1\r\nX: a\x00b\r\n\r\n", "400", "NUL"},
		{"bare CR", "GET http://a.example/ HTTP/1.1\r\nX: a\rHost: b\r\n\r\n", "400", "CR LF"},
		{"bare LF", "GET http://a.example/ HTTP/1.1\nHost: a.example\n\n", "400", "CR LF"},
		{"bare LF inside", "GET http://a.example/ HTTP/1.1\r\nX: a\nY: b\r\n\r\n", "400", "CR LF"},
		{"two blanks", "GET  http://a.example/ HTTP/1.1\r\n\r\n", "400", "request line"},
		{"blank in the target", "GET http://a.example/ x HTTP/1.1\r\n\r\n", "400", "request line"},
		{"raw UTF-8", "GET http://ä.example/ HTTP/1.1\r\n\r\n", "400", "request line"},
		{"no version", "GET http://a.example/\r\n\r\n", "400", "request line"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400", "version"},
		{"version in lower case", "GET http://a.example/ http/1.1\r\n\r\n", "400", "version"},
		{"odd method", "GE(T http://a.example/ HTTP/1.1\r\n\r\n", "400", "token"},
		{"TLS to the proxy", "\x16\x03\x01\x00\x05hello", "400", "neither HTTP nor SOCKS5"},
		{"SOCKS4", "\x04\x01\x01\xbb\x01\x02\x03\x04\x00", "400", "neither HTTP nor SOCKS5"},
		{"empty line first", "\r\nGET http://a.example/ HTTP/1.1\r\n\r\n", "400", "neither HTTP nor SOCKS5"},
		{"long target", "GET http://a.example/" + long + " HTTP/1.1\r\n\r\n", "431", "longer"},
		{"long URL", "GET http://a.example/" + long[:maxURL] + " HTTP/1.1\r\n\r\n", "400", "longer than 8192"},
		{"many fields", "GET http://a.example/ HTTP/1.1\r\n" + strings.Repeat("x: y\r\n", maxHeaderLines+1) + "\r\n", "400", "256"},
	}
	answers := public()
	answers["inside.example"] = [][]netip.Addr{addrs("93.184.215.14", "10.0.0.5")}
	w := newWorld(t, answers, ok)
	p, addr := w.proxy(t, allow("a.example", "inside.example"), nil)
	_, port, _ := net.SplitHostPort(addr)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := say(t, addr, strings.ReplaceAll(tt.request, "$PORT", port))
			if status(got) != tt.status || !strings.Contains(got, tt.text) {
				t.Errorf("answer = %q, want %s with %q", got, tt.status, tt.text)
			}
			_, body, _ := strings.Cut(got, "\r\n\r\n")
			if tt.status == "403" && !strings.HasPrefix(body, "HOST_NOT_ALLOWED: ") {
				t.Errorf("body = %q, want the scoped error", body)
			}
			if strings.Contains(got, "hunter22") || strings.Contains(got, "10.0.0.5") {
				t.Errorf("answer = %q shows what it must not", got)
			}
		})
	}
	if d := w.dials(); len(d) > 0 {
		t.Errorf("dialled %v", d)
	}
	for _, u := range p.Uses() {
		if u.Allowed || u.Why == "" || strings.Contains(u.Host+u.Why, "hunter22") {
			t.Errorf("recorded %+v, want a refusal with its reason", u)
		}
	}
}

// TestProxySSRF asks the proxy for the URLs of the adversarial cases. A child
// follows redirects itself, so that the cases with several hops say nothing
// here; those that bound a response are about a tool's memory.
func TestProxySSRF(t *testing.T) {
	t.Parallel()
	ran := 0
	for _, c := range readCases[ssrfCase](t, "testdata/ssrf.json") {
		if c.RedirectChain != nil || strings.HasPrefix(c.ID, "ssrf-request") {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			w := newWorld(t, addresses(t, c.ResolvesTo), ok)
			g := sallyport.NetworkGrant{Allow: c.Policy.Allow, Deny: c.Policy.Deny, AllowPrivate: c.Policy.AllowPrivate}
			if _, err := NewPolicy(g); err != nil {
				if c.Expect != "deny" {
					t.Errorf("NewPolicy = %v", err)
				}
				return
			}
			_, addr := w.proxy(t, g, nil)
			for form, request := range map[string]string{
				"absolute": "GET " + strings.Replace(c.URL, "https://", "http://", 1) + " HTTP/1.1\r\nConnection: close\r\n\r\n",
				"CONNECT":  "CONNECT " + carelessRequest(c.URL) + " HTTP/1.1\r\n\r\n",
			} {
				scheme, _, _ := strings.Cut(c.URL, ":")
				if form == "CONNECT" && scheme != "https" && scheme != "http" {
					continue // a tunnel has no scheme
				}
				got := "deny"
				conn := connectTo(t, addr)
				io.WriteString(conn, request)
				b, _ := bufio.NewReader(conn).ReadString('\n')
				conn.Close()
				if status(b) == "200" {
					got = "allow"
				}
				if got != c.Expect && got != c.AltExpect {
					t.Errorf("%s: %q = %s (%q), want %s: %s", form, request, got, b, c.Expect, c.Why)
				}
			}
			checkDials(t, w, c)
		})
	}
	if ran < 80 {
		t.Errorf("ran %d cases", ran)
	}
}

// carelessRequest returns what a client that splits a URL carelessly would ask a
// proxy for.
func carelessRequest(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	if u, err := url.Parse(raw); err == nil && u.Host != "" && u.User == nil {
		rest = u.Host
	}
	rest, _, _ = strings.Cut(rest, "/")
	if i := strings.LastIndexByte(rest, ':'); i < 0 || i < strings.LastIndexByte(rest, ']') {
		rest += ":" + map[string]string{"http": "80"}[scheme]
		if scheme != "http" {
			rest += "443"
		}
	}
	return rest
}

func TestProxyRebinding(t *testing.T) {
	t.Parallel()
	answers := map[string][][]netip.Addr{"": {addrs("93.184.215.14"), addrs("127.0.0.1")}}
	w := newWorld(t, answers, ok)
	_, addr := w.proxy(t, allow("a.example:8080"), nil)
	for i, want := range []string{"200", "403"} {
		c := connectTo(t, addr)
		io.WriteString(c, "CONNECT a.example:8080 HTTP/1.1\r\n\r\n")
		b, _ := bufio.NewReader(c).ReadString('\n')
		if status(b) != want {
			t.Errorf("tunnel %d = %q, want %s", i, b, want)
		}
	}
	if d := w.dials(); len(d) != 1 || d[0].Addr() != netip.MustParseAddr("93.184.215.14") {
		t.Errorf("dialled %v, want the judged address once", d)
	}
}

// TestProxyJudgesTheSocket has a resolver that is believed and a policy that
// was asked; the socket is the last one to say no.
func TestProxyJudgesTheSocket(t *testing.T) {
	t.Parallel()
	to := listen(t, func(c *net.TCPConn) { io.WriteString(c, "secret service") })
	_, port, _ := net.SplitHostPort(to)
	for _, private := range []bool{false, true} {
		g := sallyport.NetworkGrant{Allow: []string{"127.0.0.1:" + port}, AllowPrivate: private}
		_, addr := startProxy(t, g, nil, nil)
		got := say(t, addr, "CONNECT 127.0.0.1:"+port+" HTTP/1.1\r\n\r\n")
		if strings.Contains(got, "secret service") != private {
			t.Errorf("with private addresses %t: %q", private, got)
		}
	}
}

func TestProxyHeaders(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		seen = r.Clone(t.Context())
		rw.Header().Set("Connection", "X-Private")
		rw.Header().Set("X-Private", "1")
		rw.Header().Set("Proxy-Authenticate", "Basic")
		rw.Header().Set("X-Kept", "1")
		io.WriteString(rw, "ok")
	})
	_, addr := w.proxy(t, allow("a.example"), nil)
	got := say(t, addr, "GET http://A.example./x HTTP/1.1\r\nHost: b.example\r\nProxy-Authorization: Basic eA==\r\n"+
		"Proxy-Connection: keep-alive\r\nConnection: close, X-Gone\r\nX-Gone: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nX-Stays: 1\r\n\r\n")
	if status(got) != "200" || !strings.HasSuffix(got, "\r\n\r\nok") {
		t.Fatalf("answer = %q", got)
	}
	if seen.Host != "a.example" || seen.RequestURI != "/x" {
		t.Errorf("the server saw Host %s and %s, want those of the target", seen.Host, seen.RequestURI)
	}
	for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "X-Gone", "Te", "Upgrade", "User-Agent", "Accept-Encoding", "X-Forwarded-For", "Via"} {
		if v, ok := seen.Header[name]; ok {
			t.Errorf("the server saw %s: %q", name, v)
		}
	}
	if seen.Header.Get("X-Stays") == "" || !strings.Contains(got, "X-Kept: 1") {
		t.Errorf("a header got lost: %v, %q", seen.Header, got)
	}
	for _, name := range []string{"X-Private", "Proxy-Authenticate"} {
		if strings.Contains(got, name) {
			t.Errorf("the child saw %s: %q", name, got)
		}
	}
}

func TestProxyReadOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), ok)
	g := sallyport.NetworkGrant{Allow: []string{"a.example"}, ReadOnly: true}
	p, addr := w.proxy(t, g, nil)
	tests := []struct{ request, status string }{
		{"GET http://a.example/ HTTP/1.1\r\nConnection: close\r\n\r\n", "200"},
		{"HEAD http://a.example/ HTTP/1.1\r\nConnection: close\r\n\r\n", "200"},
		{"POST http://a.example/ HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "403"},
		{"DELETE http://a.example/ HTTP/1.1\r\n\r\n", "403"},
		{"get http://a.example/ HTTP/1.1\r\n\r\n", "403"},
		{"GET http://a.example/ HTTP/1.1\r\nX-HTTP-Method-Override: DELETE\r\n\r\n", "403"},
		{"CONNECT a.example:443 HTTP/1.1\r\n\r\n", "403"},
		{"CONNECT a.example:80 HTTP/1.1\r\n\r\n", "403"},
	}
	for _, tt := range tests {
		if got := say(t, addr, tt.request); status(got) != tt.status {
			t.Errorf("%q = %q, want %s", tt.request, got, tt.status)
		}
	}
	if u := findUse(t, p, "a.example", false); u.Connections != 5 || !strings.HasPrefix(u.Why, "a.example may only be read") {
		t.Errorf("recorded %+v, want the refusals", u)
	}
}

func TestProxyRecordsABoundedList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), ok)
	p, addr := w.proxy(t, allow("a.example"), nil)
	for i := range maxUses + 20 {
		say(t, addr, "CONNECT h"+strconv.Itoa(i)+".example:443 HTTP/1.1\r\n\r\n")
	}
	if _, err := get(clientVia(t, addr, w.roots), "http://a.example/"); err != nil {
		t.Fatal(err)
	}
	p.Close()
	list := p.Uses()
	if len(list) != maxUses+2 {
		t.Fatalf("Uses has %d entries, want %d", len(list), maxUses+2)
	}
	refused, allowed := list[maxUses], list[maxUses+1]
	if refused.Host != "*" || refused.Allowed || refused.Connections != 20 || refused.Why == "" {
		t.Errorf("sum of the refused = %+v, want 20 connections", refused)
	}
	if allowed.Host != "a.example" || !allowed.Allowed || allowed.Connections != 1 || allowed.Sent == 0 {
		t.Errorf("what was allowed = %+v, want it behind any number of refusals", allowed)
	}
}

func TestUsesBoundsEachKind(t *testing.T) {
	t.Parallel()
	var u hostUses
	for _, allowed := range []bool{true, false, true} {
		for i := range maxUses + 20 {
			u.entryFor("h"+strconv.Itoa(i), 443, allowed).connections.Add(1)
		}
	}
	sums := map[bool]int{}
	for _, one := range u.listUses() {
		if one.Host == hostMore {
			sums[one.Allowed] += one.Connections
		}
	}
	if n := len(u.listUses()); n != 2*maxUses+2 || sums[true] != 40 || sums[false] != 20 {
		t.Errorf("%d entries, sums %v, want %d of each kind and a sum", n, sums, maxUses)
	}
}
