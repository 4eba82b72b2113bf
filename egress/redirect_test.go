package egress

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

// route answers with redirects by "host/path", and records what arrives.
type route struct {
	mu   sync.Mutex
	to   map[string]string // "host/path" -> "status location"
	seen []*http.Request
	body []string
}

func (r *route) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen, r.body = append(r.seen, req), append(r.body, string(b))
	if status, location, ok := strings.Cut(r.to[req.Host+req.URL.Path], " "); ok {
		code, _ := strconv.Atoi(status)
		w.Header().Set("Location", location)
		w.Header().Set("Set-Cookie", "session=1")
		w.WriteHeader(code)
	}
}

// credentials are headers in which callers put what must not travel, and two
// that may.
func credentials() http.Header {
	return http.Header{
		"Authorization": {"Bearer k"}, "Cookie": {"a=b"}, "X-Api-Key": {"k"}, "Proxy-Authorization": {"k"},
		"X-Amz-Security-Token": {"k"}, "Referer": {"https://a.example/?k"}, "Accept": {"text/plain"}, "User-Agent": {"sallyport"},
	}
}

var never = []string{"Authorization", "Cookie", "X-Api-Key", "Proxy-Authorization", "X-Amz-Security-Token", "Referer"}

// send sends a request with credentials through client.
func send(t *testing.T, client *http.Client, method, url, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	req.Header = credentials()
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return resp, err
}

func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, url string
		to        map[string]string
		strip     []bool // by hop
	}{
		{"same origin", "https://a.example/", map[string]string{"a.example/": "302 /2"}, []bool{false, false}},
		{"same origin, spelled otherwise", "https://a.example/", map[string]string{"a.example/": "302 https://a.example:443/2"}, []bool{false, false}},
		{"other host", "https://a.example/", map[string]string{"a.example/": "302 https://b.example/"}, []bool{false, true}},
		{"subdomain", "https://a.example/", map[string]string{"a.example/": "302 https://x.a.example/"}, []bool{false, true}},
		{"other port", "https://a.example/", map[string]string{"a.example/": "307 https://a.example:8443/"}, []bool{false, true}},
		{"other scheme, same port", "http://a.example:8443/", map[string]string{"a.example:8443/": "302 https://a.example:8443/x"}, []bool{false, true}},
		{"downgrade", "https://a.example/", map[string]string{"a.example/": "302 http://a.example/x"}, []bool{false, true}},
		{"upgrade", "http://a.example/", map[string]string{"a.example/": "301 https://a.example/x"}, []bool{false, true}},
		{"there and back", "https://a.example/", map[string]string{"a.example/": "302 https://b.example/", "b.example/": "302 https://a.example/3"}, []bool{false, true, true}},
		{"back after a detour", "https://a.example/", map[string]string{"a.example/": "302 /2", "a.example/2": "302 https://b.example/", "b.example/": "302 https://a.example/4", "a.example/4": "302 /5"}, []bool{false, false, true, true, true}},
	}
	for _, tt := range tests {
		for _, sdk := range []bool{false, true} {
			t.Run(tt.name+map[bool]string{true: "/another CheckRedirect"}[sdk], func(t *testing.T) {
				r := &route{to: tt.to}
				w := newWorld(t, public(), r.ServeHTTP)
				c := bind(w.client(t, allow("a.example", "a.example:8443", "*.a.example", "b.example"), Options{}), nil)
				if sdk {
					// An SDK that puts the headers back.
					copied := *c
					copied.CheckRedirect = func(req *http.Request, via []*http.Request) error {
						req.Header = via[0].Header.Clone()
						return nil
					}
					c = &copied
				}
				if _, err := send(t, c, "GET", tt.url, ""); err != nil {
					t.Fatalf("Do = %v", err)
				}
				if len(r.seen) != len(tt.strip) {
					t.Fatalf("%d hops, want %d", len(r.seen), len(tt.strip))
				}
				for i, strip := range tt.strip {
					checkTravel(t, i, r.seen[i].Header, strip)
				}
			})
		}
	}
}

func checkTravel(t *testing.T, i int, h http.Header, strip bool) {
	t.Helper()
	for _, name := range never {
		// The first request carries the Referer that the caller wrote.
		want := !strip && (name != "Referer" || i == 0)
		if got := h.Get(name) != ""; got != want {
			t.Errorf("hop %d has %s = %t, want %t", i+1, name, got, want)
		}
	}
	if h.Get("Accept") != "text/plain" || h.Get("User-Agent") != "sallyport" {
		t.Errorf("hop %d lost harmless headers: %v", i+1, h)
	}
}

func TestRedirectsAreCheckedLikeRequests(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, location, reason string
	}{
		{"undeclared host", "https://evil.example/", "evil.example is not in the declared allowedHosts"},
		{"apex of a wildcard", "https://w.example/", "w.example is not in the declared allowedHosts"},
		{"denied host", "https://denied.w.example/", "is on the deny list"},
		{"denied host with a dot", "https://DENIED.w.example./", "is on the deny list"},
		{"port", "https://a.example:8443/", "a.example:8443 is not in the declared allowedHosts"},
		{"metadata", "http://169.254.169.254/", "169.254.169.254 is a cloud metadata address"},
		{"metadata name", "http://metadata.google.internal/", "is a cloud metadata address"},
		{"loopback", "http://127.0.0.1/", "is a private address (loopback)"},
		{"mapped loopback", "http://[::ffff:127.0.0.1]/", "is a private"},
		{"decimal loopback", "http://2130706433/", "unusual spelling"},
		{"localhost", "http://localhost/", "is a private address (loopback)"},
		{"private answer", "https://private.w.example/", "private.w.example resolves to a private address (RFC 1918)"},
		{"file", "file:///etc/passwd", "does not begin with http"},
		{"gopher", "gopher://a.example:80/_x", "does not begin with http"},
		{"javascript", "javascript:alert(1)", "does not begin with http"},
		{"user info", "https://user:pw@a.example/", "user info"},
		{"user info that looks like the host", "https://a.example@evil.example/", "user info"},
		{"protocol-relative", "//evil.example/", "evil.example is not in"},
		{"backslashes", `\\evil.example\`, "backslash"},
		{"slash and backslash", `/\evil.example`, "backslash"},
		{"backslash after the host", `https://a.example\@evil.example/`, "backslash"},
		{"blank", "https://evil.example/ x", "blank"},
		{"no host", "https:///x", "has no host"},
		{"opaque", "https:evil.example", "has no host"},
		{"port word", "https://a.example:x/", "cannot be read"},
		{"zone", "http://[fe80::1%25lo]/", "not a host name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answers := public()
			answers["private.w.example"] = [][]netip.Addr{addrs("10.0.0.9")}
			r := &route{to: map[string]string{"a.example/": "302 " + tt.location}}
			w := newWorld(t, answers, r.ServeHTTP)
			g := sallyport.NetworkGrant{Allow: []string{"a.example", "*.w.example"}, Deny: []string{"denied.w.example"}}
			_, err := get(bind(w.client(t, g, Options{}), nil), "https://a.example/")
			wantRefused(t, "Get", err, tt.reason)
			if d := w.dials(); len(d) != 1 || len(r.seen) != 1 {
				t.Errorf("dialled %v, want the first host only", d)
			}
		})
	}
}

func TestRedirectMethodsAndBodies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status             int
		method, wantMethod string
		wantBody           string
	}{
		{301, "POST", "GET", ""},
		{302, "POST", "GET", ""},
		{303, "POST", "GET", ""},
		{303, "PUT", "GET", ""},
		{307, "POST", "POST", "payload"},
		{308, "PUT", "PUT", "payload"},
		{301, "HEAD", "HEAD", ""},
	}
	for _, tt := range tests {
		t.Run(strconv.Itoa(tt.status)+" "+tt.method, func(t *testing.T) {
			r := &route{to: map[string]string{"a.example/": strconv.Itoa(tt.status) + " https://b.example/"}}
			w := newWorld(t, public(), r.ServeHTTP)
			body := "payload"
			if tt.method == "HEAD" {
				body = ""
			}
			resp, err := send(t, bind(w.client(t, allow("a.example", "b.example"), Options{}), nil), tt.method, "https://a.example/", body)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.seen[1].Method; got != tt.wantMethod || r.body[1] != tt.wantBody {
				t.Errorf("hop 2 is %s with %q, want %s with %q", got, r.body[1], tt.wantMethod, tt.wantBody)
			}
			if got := resp.Request.URL.String(); got != "https://b.example/" {
				t.Errorf("resp.Request.URL = %s, want the last hop", got)
			}
		})
	}
}

func TestNoBodyWithoutEncryption(t *testing.T) {
	t.Parallel()
	r := &route{to: map[string]string{"a.example/": "307 http://a.example/x"}}
	w := newWorld(t, public(), r.ServeHTTP)
	_, err := send(t, bind(w.client(t, allow("a.example"), Options{}), nil), "POST", "https://a.example/", "secret")
	wantRefused(t, "POST", err, "without encryption")
	if len(r.seen) != 1 {
		t.Errorf("%d requests, want 1", len(r.seen))
	}
}

func TestRedirectsAreBounded(t *testing.T) {
	t.Parallel()
	for _, sdk := range []bool{false, true} {
		for n, ok := range map[int]bool{maxRedirects: true, maxRedirects + 1: false} {
			r := &route{to: map[string]string{}}
			for i := range n {
				r.to["a.example/"+strconv.Itoa(i)] = "302 /" + strconv.Itoa(i+1)
			}
			w := newWorld(t, public(), r.ServeHTTP)
			c := bind(w.client(t, allow("a.example"), Options{}), nil)
			if sdk {
				copied := *c
				copied.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }
				c = &copied
			}
			_, err := get(c, "http://a.example/0")
			if (err == nil) != ok {
				t.Errorf("%d redirects (sdk %t): %v, want ok %t", n, sdk, err, ok)
			}
			if !ok && len(r.seen) != maxRedirects+1 {
				t.Errorf("%d requests, want %d", len(r.seen), maxRedirects+1)
			}
		}
	}
}

func TestClientMayLookAtARedirect(t *testing.T) {
	t.Parallel()
	r := &route{to: map[string]string{"a.example/": "302 https://evil.example/"}}
	w := newWorld(t, public(), r.ServeHTTP)
	c := bind(w.client(t, allow("a.example"), Options{}), nil)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Get("https://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 302 || resp.Header.Get("Location") != "https://evil.example/" {
		t.Errorf("response = %d to %s, want the redirect itself", resp.StatusCode, resp.Header.Get("Location"))
	}
}

func TestNoCookieIsKept(t *testing.T) {
	t.Parallel()
	r := &route{to: map[string]string{"a.example/": "302 /2"}}
	w := newWorld(t, public(), r.ServeHTTP)
	if _, err := get(bind(w.client(t, allow("a.example"), Options{}), nil), "http://a.example/"); err != nil {
		t.Fatal(err)
	}
	if got := r.seen[1].Header.Get("Cookie"); got != "" {
		t.Errorf("the second hop carries the cookie %s", got)
	}
}

func TestTimeBoundSpansRedirects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hops atomic.Int32
		w := newWorld(t, public(), func(w http.ResponseWriter, r *http.Request) {
			n := hops.Add(1)
			time.Sleep(40 * time.Second)
			http.Redirect(w, r, "/"+strconv.Itoa(int(n)), http.StatusFound)
		})
		start := time.Now()
		_, err := get(bind(w.client(t, allow("a.example"), Options{}), nil), "http://a.example/")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != defaultTimeout || hops.Load() != 3 {
			t.Errorf("Get = %v after %s and %d hops, want the bound after %s in the third", err, time.Since(start), hops.Load(), defaultTimeout)
		}
	})
}

func TestObserverSeesEveryHop(t *testing.T) {
	t.Parallel()
	r := &route{to: map[string]string{"a.example/": "302 https://b.example:8443/", "b.example:8443/": "302 http://10.0.0.1/"}}
	w := newWorld(t, public(), r.ServeHTTP)
	o := &recorder{}
	c := bind(w.client(t, allow("a.example", "b.example:8443"), Options{}), o)
	_, err := get(c, "https://a.example/")
	wantRefused(t, "Get", err, "10.0.0.1 is a private address")
	want := []string{
		"allowed a.example", "allowed b.example:8443",
		"refused 10.0.0.1:80: 10.0.0.1 is a private address (RFC 1918)",
	}
	if diff := cmp.Diff(want, o.lines); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}
