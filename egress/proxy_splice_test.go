package egress

import (
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

const (
	standIn = "sallyport-standin-0001"
	// value has characters that every encoding writes differently.
	value = `s3cr&t/"value"+<1>é`
)

func spliceFor(hosts ...string) *ProxyOptions {
	return &ProxyOptions{Splices: []sallyport.Splice{{Placeholder: standIn, Value: sallyport.NewSecret(value), Hosts: hosts}}}
}

// trusting is a child that trusts the authority of the run beside the world's.
func trusting(t testing.TB, w *world, p *Proxy, addr string) *http.Client {
	t.Helper()
	roots := w.roots.Clone()
	if !roots.AppendCertsFromPEM(p.CA()) {
		t.Fatal("CA is not a certificate")
	}
	return clientVia(t, addr, roots)
}

// echo answers with what it was told, in every way that servers do.
func echo(rw http.ResponseWriter, r *http.Request) {
	auth := r.Header.Get("Authorization")
	_, pass, _ := r.BasicAuth()
	if pass != "" {
		auth = pass
	}
	q := r.URL.Query().Get("key")
	rw.Header().Set("X-Echo", auth)
	rw.Header().Set("X-Query", r.URL.RawQuery)
	rw.Header().Set("X-Raw", r.Header.Get("Authorization"))
	quoted, _ := json.Marshal(map[string]any{"auth": auth, "query": q, "headers": r.Header})
	fmt.Fprintf(rw, "%s|%s|%s|%s|%s|%s|%s", auth, q, r.URL.RawQuery, quoted, url.QueryEscape(auth),
		base64.StdEncoding.EncodeToString([]byte("x"+auth)), hex.EncodeToString([]byte(auth)))
}

// shows reports whether text holds a value in a form that is easily read.
func shows(text string) bool {
	for _, form := range formsOf(value) {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

func TestSplice(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		seen = r.Clone(r.Context())
		echo(rw, r)
	})
	p, addr := w.proxy(t, allow("a.example", "b.example"), spliceFor("a.example"))
	c := trusting(t, w, p, addr)
	basicOf := func(pass string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+pass)) }
	tests := []struct {
		name, url, auth   string
		want, wantQuery   string
		spliced, hidesAll bool
	}{
		{"header", "https://a.example/", "Bearer " + standIn, "Bearer " + value, "", true, true},
		{"basic", "https://a.example/", basicOf(standIn), basicOf(value), "", true, true},
		{"basic without it", "https://a.example/", basicOf("other"), basicOf("other"), "", false, true},
		{"query", "https://a.example/?key=" + standIn + "&x=%20", "", "", "key=" + url.QueryEscape(value) + "&x=%20", true, true},
		{"other host", "https://b.example/?key=" + standIn, "Bearer " + standIn, "Bearer " + standIn, "key=" + standIn, false, false},
		{"without encryption", "http://a.example/?key=" + standIn, "Bearer " + standIn, "Bearer " + standIn, "key=" + standIn, false, false},
		{"without encryption on its port", "http://a.example:443/?key=" + standIn, "Bearer " + standIn, "Bearer " + standIn, "key=" + standIn, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequest("GET", tt.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.auth != "" {
				req.Header.Set("Authorization", tt.auth)
			}
			for _, name := range partial {
				req.Header.Set(name, "bytes=0-0")
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := seen.Header.Get("Authorization"); got != tt.want || seen.URL.RawQuery != tt.wantQuery {
				t.Errorf("the server saw %q and %q, want %q and %q", got, seen.URL.RawQuery, tt.want, tt.wantQuery)
			}
			for _, name := range partial {
				if (seen.Header.Get(name) == "") != strings.Contains(tt.url, "//a.") {
					t.Errorf("%s = %q", name, seen.Header.Get(name))
				}
			}
			if (seen.Header.Get("Accept-Encoding") == "identity") != strings.Contains(tt.url, "//a.") {
				t.Errorf("Accept-Encoding = %q", seen.Header.Get("Accept-Encoding"))
			}
			all := fmt.Sprint(resp.Header) + string(b)
			if shows(all) || strings.Contains(all, basicOf(value)) {
				t.Errorf("the child sees the value: %s", all)
			}
			if tt.spliced && !strings.Contains(all, standIn) && !strings.Contains(all, basicOf(standIn)) {
				t.Errorf("the answer has lost the stand-in: %s", all)
			}
			if tt.hidesAll != (resp.TLS != nil && resp.TLS.PeerCertificates[0].Subject.CommonName == "Sallyport") {
				t.Errorf("TLS ended in the proxy: %t, want %t", !tt.hidesAll, tt.hidesAll)
			}
		})
	}
	// A tunnel to port 80 is served like a request without one.
	raw, r := tunnelTo(t, addr, "a.example:80")
	io.WriteString(raw, "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\nAuthorization: "+standIn+"\r\n\r\n")
	if line, err := r.ReadString('\n'); status(line) != "200" || seen.Header.Get("Authorization") != standIn {
		t.Errorf("through a tunnel to port 80: %q, %v, the server saw %q", line, err, seen.Header.Get("Authorization"))
	}
	p.Close()
	for _, u := range p.Uses() {
		if u.Host == "a.example" && u.Port == 80 && u.Why == "" {
			t.Errorf("recorded %+v, want a note that nothing was spliced", u)
		}
		if u.Host == "a.example" && u.Port == 443 && (u.Sent == 0 || u.Received == 0 || !u.Allowed) {
			t.Errorf("recorded %+v, want bytes", u)
		}
	}
	if text := fmt.Sprintf("%v %+v", p.Uses(), p.Uses()); shows(text) {
		t.Errorf("the record shows the value: %s", text)
	}
}

// TestSpliceChecksInside is the policy inside of a tunnel whose TLS ends in
// the proxy.
func TestSpliceChecksInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gzip":
			rw.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(rw)
			io.WriteString(z, r.Header.Get("Authorization"))
			z.Close()
		case "/part":
			rw.WriteHeader(http.StatusPartialContent)
			io.WriteString(rw, r.Header.Get("Authorization")[8:9])
		case "/difference":
			rw.WriteHeader(http.StatusIMUsed)
			io.WriteString(rw, r.Header.Get("Authorization")[8:9])
		case "/ranged":
			rw.Header().Set("Content-Range", "bytes 8-8/40")
			io.WriteString(rw, r.Header.Get("Authorization")[8:9])
		case "/parts":
			rw.Header().Set("Content-Type", "Multipart/ByteRanges; boundary=x")
			io.WriteString(rw, "--x--\r\n")
		case "/name":
			rw.Header()["Authorization-"+strings.TrimPrefix(r.Header.Get("X-Key"), "Key ")] = []string{"1"}
		case "/cut":
			rw.Header().Set("Content-Length", "1000")
			io.WriteString(rw, r.Header.Get("Authorization")[:len("Bearer ")+12])
		default:
			io.WriteString(rw, "ok")
		}
	})
	g := sallyport.NetworkGrant{Allow: []string{"a.example", "b.example"}, ReadOnly: true}
	o := spliceFor("a.example")
	o.Splices = append(o.Splices, sallyport.Splice{Placeholder: "standin-plain", Value: sallyport.NewSecret("PlainValue"), Hosts: []string{"a.example"}})
	p, addr := w.proxy(t, g, o)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.CA())
	inside := func(t *testing.T, name, request string) string {
		t.Helper()
		c, _ := tunnelTo(t, addr, "a.example:443")
		s := tls.Client(c, &tls.Config{ServerName: name, RootCAs: roots, InsecureSkipVerify: name != "a.example"})
		defer s.Close()
		if err := s.Handshake(); err != nil {
			return err.Error()
		}
		io.WriteString(s, request)
		b, _ := io.ReadAll(s)
		return string(b)
	}
	auth := "Host: a.example\r\nConnection: close\r\nAuthorization: Bearer " + standIn + "\r\n\r\n"
	tests := []struct{ name, request, want string }{
		{"get", "GET / HTTP/1.1\r\n" + auth, "HTTP/1.1 200"},
		{"host with a port", "GET / HTTP/1.1\r\nHost: a.example:443\r\nConnection: close\r\n\r\n", "HTTP/1.1 200"},
		{"read-only", "POST / HTTP/1.1\r\n" + auth, "HTTP/1.1 403"},
		{"other Host", "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "HTTP/1.1 400"},
		{"no Host", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},
		{"absolute", "GET https://b.example/ HTTP/1.1\r\n" + auth, "HTTP/1.1 400"},
		{"more of a host", "GET .b.example/ HTTP/1.1\r\n" + auth, "HTTP/1.1 400"},
		{"a port", "GET :8443/ HTTP/1.1\r\n" + auth, "HTTP/1.1 400"},
		{"two slashes", "GET //b.example/ HTTP/1.1\r\n" + auth, "HTTP/1.1 200"},
		{"tunnel in the tunnel", "CONNECT b.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", "HTTP/1.1 400"},
		{"smuggling", "GET / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 400"},
		{"compressed", "GET /gzip HTTP/1.1\r\n" + auth, "HTTP/1.1 502"},
		{"a part", "GET /part HTTP/1.1\r\n" + auth, "HTTP/1.1 502"},
		{"a difference", "GET /difference HTTP/1.1\r\n" + auth, "HTTP/1.1 502"},
		{"a part that is not called one", "GET /ranged HTTP/1.1\r\n" + auth, "HTTP/1.1 502"},
		{"parts", "GET /parts HTTP/1.1\r\n" + auth, "HTTP/1.1 502"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := inside(t, "a.example", tt.request); !strings.HasPrefix(got, tt.want) || shows(got) {
				t.Errorf("answer = %q, want %s", got, tt.want)
			}
		})
	}
	if got := inside(t, "a.example", "GET /name HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\nX-Key: standin-plain\r\n\r\n"); status(got) != "200" || strings.Contains(strings.ToLower(got), "plainvalue") {
		t.Errorf("a header's name shows the value: %q", got)
	}
	if got := inside(t, "a.example", "GET /cut HTTP/1.1\r\n"+auth); status(got) != "200" || strings.Contains(got, value[:4]) {
		t.Errorf("an answer that breaks off shows the beginning of the value: %q", got)
	}
	if got := inside(t, "b.example", "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n"); strings.HasPrefix(got, "HTTP") {
		t.Errorf("another name in the ClientHello = %q, want no certificate", got)
	}
	findUse(t, p, "b.example", false)
	c, r := tunnelTo(t, addr, "a.example:443")
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
	if b, _ := io.ReadAll(r); len(b) > 0 {
		t.Errorf("a tunnel without TLS to a host that gets a secret answers %q", b)
	}
	if got := say(t, addr, "CONNECT b.example:443 HTTP/1.1\r\n\r\n"); status(got) != "403" {
		t.Errorf("tunnel of a read-only grant = %q", got)
	}
}

// TestSpliceVerifiesTheServer: the value is sent to no server that cannot prove
// to be the host.
func TestSpliceVerifiesTheServer(t *testing.T) {
	t.Parallel()
	reached := false
	w := newWorld(t, public(), func(http.ResponseWriter, *http.Request) { reached = true })
	d := &DialOptions{Resolve: w.resolve, Dial: w.dial}
	o := spliceFor("a.example")
	o.RootCAs = x509.NewCertPool()
	p, addr := startProxy(t, allow("a.example"), d, o)
	resp, err := trusting(t, w, p, addr).Get("https://a.example/?key=" + standIn)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadGateway || reached {
		t.Errorf("status %d, server reached %t, want 502 and not", resp.StatusCode, reached)
	}
}

func TestSpliceJudgesAddressesInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answer("10.0.0.5"), ok)
	p, addr := w.proxy(t, allow("a.example"), spliceFor("a.example"))
	resp, err := trusting(t, w, p, addr).Get("https://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 403 || !strings.HasPrefix(string(b), "HOST_NOT_ALLOWED: a.example resolves to") {
		t.Errorf("answer = %d %q, want the refusal", resp.StatusCode, b)
	}
	findUse(t, p, "a.example", false)
}

// TestSpliceWithCurl: another TLS library accepts what the authority signs.
func TestSpliceWithCurl(t *testing.T) {
	t.Parallel()
	curl := needs.Program(t, "curl")
	w := newWorld(t, public(), echo)
	p, addr := w.proxy(t, allow("a.example"), spliceFor("a.example"))
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, p.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), curl, "-sS", "--max-time", "20", "-x", "http://"+addr, "--cacert", ca,
		"--compressed", "-u", "user:"+standIn, "https://a.example/?key="+standIn).CombinedOutput()
	if err != nil || shows(string(out)) || !strings.HasPrefix(string(out), standIn+"|"+standIn+"|") {
		t.Errorf("curl = %q, %v", out, err)
	}
}

func TestProxyWithoutSplicesHasNoCA(t *testing.T) {
	t.Parallel()
	p, err := NewProxy(&Policy{}, nil, nil)
	if err != nil || p.CA() != nil || len(p.Uses()) != 0 {
		t.Errorf("CA = %q, Uses = %v, %v", p.CA(), p.Uses(), err)
	}
	p.Close()
}

func TestNewProxyRefuses(t *testing.T) {
	t.Parallel()
	good := sallyport.Splice{Placeholder: standIn, Value: sallyport.NewSecret(value), Hosts: []string{"a.example"}}
	change := func(f func(*sallyport.Splice)) *ProxyOptions {
		s := good
		f(&s)
		return &ProxyOptions{Splices: []sallyport.Splice{s}}
	}
	if _, err := NewProxy(nil, nil, nil); err == nil {
		t.Error("NewProxy without a policy = nil")
	}
	for name, o := range map[string]*ProxyOptions{
		"bound":        {MaxConnections: -1},
		"head":         {HeadTimeout: -1},
		"idle":         {IdleTimeout: -1},
		"host":         change(func(s *sallyport.Splice) { s.Hosts = []string{"https://a.example"} }),
		"short":        change(func(s *sallyport.Splice) { s.Placeholder = "short" }),
		"odd stand-in": change(func(s *sallyport.Splice) { s.Placeholder = "stand in 00" }),
		"no value":     change(func(s *sallyport.Splice) { s.Value = sallyport.Secret{} }),
		"short value":  change(func(s *sallyport.Splice) { s.Value = sallyport.NewSecret("hunter2") }),
		"long value":   change(func(s *sallyport.Splice) { s.Value = sallyport.NewSecret(strings.Repeat("x", maxSpliced+1)) }),
		"value inside": change(func(s *sallyport.Splice) {
			s.Placeholder = "x-hunter2222" + "-y"
			s.Value = sallyport.NewSecret("hunter2222")
		}),
		"stand-in, too": change(func(s *sallyport.Splice) { s.Value = sallyport.NewSecret("x" + standIn) }),
	} {
		if _, err := NewProxy(&Policy{}, nil, o); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("NewProxy with a bad %s = %v, want an error without the value", name, err)
		}
	}
}
