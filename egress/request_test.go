package egress

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// newRequest builds a request without net/http's help, as an SDK could.
func newRequest(t *testing.T, method string, u *url.URL, h http.Header) *http.Request {
	t.Helper()
	if h == nil {
		h = http.Header{}
	}
	return (&http.Request{Method: method, URL: u, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(t.Context())
}

func TestRequestsThatNeedNoURLText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, reason string
		u            url.URL
	}{
		{"opaque", "has no host", url.URL{Scheme: "http", Host: "a.example", Opaque: "//evil.example/"}},
		{"user info", "user info", url.URL{Scheme: "http", Host: "a.example", User: url.User("u"), Path: "/"}},
		{"upper-case scheme", "http", url.URL{Scheme: "HTTP", Host: "a.example", Path: "/"}},
		{"no host", "has no host", url.URL{Scheme: "http", Path: "/"}},
		{"absolute request target", "slash", url.URL{Scheme: "http", Host: "a.example", Path: "http://evil.example/"}},
		{"asterisk", "slash", url.URL{Scheme: "http", Host: "a.example", Path: "*"}},
		{"blank in the query", "blank", url.URL{Scheme: "http", Host: "a.example", Path: "/", RawQuery: "x HTTP/1.1\r\nHost: evil"}},
		{"host with a path", "not a host", url.URL{Scheme: "http", Host: "a.example/x", Path: "/"}},
		{"host with user info", "not a host", url.URL{Scheme: "http", Host: "u@a.example", Path: "/"}},
		{"host with line end", "not a host", url.URL{Scheme: "http", Host: "a.example\r\nX: y", Path: "/"}},
		{"bracketed name", "not a host", url.URL{Scheme: "http", Host: "[a.example]", Path: "/"}},
		{"two ports", "not a host", url.URL{Scheme: "http", Host: "a.example:80:80", Path: "/"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, public(), func(http.ResponseWriter, *http.Request) {})
			b := w.client(t, allow("*"), Options{}).Bind(nil)
			_, err := b.RoundTrip(newRequest(t, "GET", &tt.u, nil))
			wantRefused(t, "RoundTrip", err, tt.reason)
			if d := w.dials(); len(d) > 0 {
				t.Errorf("dialled %v", d)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, key, value string
		ok               bool
	}{
		{"plain", "X-A", "1", true},
		{"host", "Host", "a.example", true},
		{"host, other spelling", "host", "A.Example.:80", true},
		{"other host", "Host", "evil.example", false},
		{"other host, lower case", "host", "evil.example", false},
		{"other host, odd case", "hOsT", "evil.example", false},
		{"other port", "Host", "a.example:8080", false},
		{"two hosts in one", "Host", "a.example, evil.example", false},
		{"empty host", "Host", "", false},
		{"transfer encoding", "Transfer-Encoding", "chunked", false},
		{"transfer encoding, lower case", "transfer-encoding", "chunked", false},
		{"content length, ignored by net/http", "Content-Length", "3", true},
		{"content length, sent by net/http", "content-length", "3", false},
		{"upgrade", "Upgrade", "websocket", false},
		{"upgrade to h2c", "HTTP2-Settings", "x", false},
		{"connection", "Connection", "close", true},
		{"connection with options", "connection", "keep-alive, TE", true},
		{"connection that removes headers", "Connection", "close, X-Forwarded-For", false},
		{"line end in value", "X-A", "1\r\nHost: evil", false},
		{"bare newline in value", "X-A", "1\nX-B: 2", false},
		{"nul in value", "X-A", "1\x00", false},
		{"line end in name", "X-A: 1\r\nX-B", "1", false},
		{"colon in name", "X-A:", "1", false},
		{"blank in name", "Host ", "evil.example", false},
		{"empty name", "", "1", false},
		{"override, not read-only", "X-HTTP-Method-Override", "DELETE", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen *http.Request
			w := newWorld(t, public(), func(_ http.ResponseWriter, r *http.Request) { seen = r })
			b := w.client(t, allow("a.example"), Options{}).Bind(nil)
			req := newRequest(t, "GET", &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, http.Header{tt.key: {tt.value}})
			resp, err := b.RoundTrip(req)
			if (err == nil) != tt.ok {
				t.Fatalf("RoundTrip with %q: %q = %v, want ok %t", tt.key, tt.value, err, tt.ok)
			}
			if err != nil {
				if d := w.dials(); len(d) > 0 {
					t.Errorf("dialled %v", d)
				}
				return
			}
			resp.Body.Close()
			if seen.Host != "a.example" || seen.Header.Get("Host") != "" {
				t.Errorf("the server saw Host %q and %v", seen.Host, seen.Header)
			}
			if req.Header[tt.key][0] != tt.value {
				t.Error("the caller's header was changed")
			}
		})
	}
}

func TestHostFieldIsPinned(t *testing.T) {
	t.Parallel()
	var seen string
	w := newWorld(t, public(), func(_ http.ResponseWriter, r *http.Request) { seen = r.Host })
	b := w.client(t, allow("a.example"), Options{}).Bind(nil)
	for host, ok := range map[string]bool{"": true, "a.example": true, "A.EXAMPLE.": true, "evil.example": false, "a.example:81": false} {
		req := newRequest(t, "GET", &url.URL{Scheme: "http", Host: "A.example", Path: "/"}, nil)
		req.Host = host
		resp, err := b.RoundTrip(req)
		if (err == nil) != ok {
			t.Errorf("RoundTrip with Host %q = %v, want ok %t", host, err, ok)
		}
		if err == nil {
			resp.Body.Close()
		}
		if ok && seen != "a.example" {
			t.Errorf("the server saw Host %q, want a.example", seen)
		}
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method             string
		ordinary, readOnly bool
	}{
		{"", true, true},
		{"GET", true, true},
		{"HEAD", true, true},
		{"POST", true, false},
		{"DELETE", true, false},
		{"PROPFIND", true, false},
		{"OPTIONS", true, false},
		{"get", true, false},
		{"CONNECT", false, false},
		{"connect", false, false},
		{"TRACE", false, false},
		{"TRACK", false, false},
		{"GET /x HTTP/1.1\r\nHost: evil", false, false},
		{"G T", false, false},
	}
	for _, tt := range tests {
		for _, readOnly := range []bool{false, true} {
			w := newWorld(t, public(), func(http.ResponseWriter, *http.Request) {})
			b := w.client(t, sallyport.NetworkGrant{Allow: []string{"a.example"}, ReadOnly: readOnly}, Options{}).Bind(nil)
			resp, err := b.RoundTrip(newRequest(t, tt.method, &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, nil))
			want := tt.ordinary && (!readOnly || tt.readOnly)
			if (err == nil) != want {
				t.Errorf("method %q, read-only %t = %v, want ok %t", tt.method, readOnly, err, want)
			}
			if err == nil {
				resp.Body.Close()
			} else if len(w.dials()) > 0 {
				t.Errorf("method %q: dialled", tt.method)
			}
		}
	}
}

func TestReadOnlyHasNoWayAround(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), func(http.ResponseWriter, *http.Request) {})
	b := w.client(t, sallyport.NetworkGrant{Allow: []string{"a.example"}, ReadOnly: true}, Options{}).Bind(nil)
	_, err := b.DialContext(t.Context(), "tcp", "a.example:80")
	wantRefused(t, "DialContext", err, "may only be read")
	for _, name := range []string{"X-HTTP-Method-Override", "x-http-method-override", "X-HTTP-Method", "X-Method-Override"} {
		req := newRequest(t, "GET", &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, http.Header{name: {"DELETE"}})
		_, err := b.RoundTrip(req)
		wantRefused(t, name, err, "may only be read")
	}
	if len(w.dials()) > 0 {
		t.Errorf("dialled %v", w.dials())
	}
}

// closable notices that it was closed.
type closable struct {
	strings.Reader
	closed bool
}

func (c *closable) Close() error { c.closed = true; return nil }

func TestBodyOfARefusedRequestIsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), func(http.ResponseWriter, *http.Request) {})
	full, zero := w.client(t, allow("a.example"), Options{}).Bind(nil), Binding{}
	for _, b := range []*Binding{&full, &zero} {
		body := &closable{}
		req := httptest.NewRequest("POST", "http://b.example/", nil)
		req.Body, req.RequestURI = body, ""
		_, err := b.RoundTrip(req)
		wantRefused(t, "RoundTrip", err, "b.example is not in the declared allowedHosts")
		if !body.closed {
			t.Error("the request's body was left open")
		}
	}
	_, err := zero.DialContext(t.Context(), "tcp", "b.example:80")
	wantRefused(t, "DialContext of the zero Binding", err, "is not in the declared allowedHosts")
}

func TestDecidedBeforeTheTransport(t *testing.T) {
	t.Parallel()
	// The dialer decides once more, so only the check itself shows that a
	// kept connection is not used without a decision.
	c, err := New(allow("a.example"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.checkRequest(newRequest(t, "GET", &url.URL{Scheme: "http", Host: "b.example"}, nil))
	wantRefused(t, "check", err, "b.example is not in the declared allowedHosts")
}

func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	t.Parallel()
	// net/http reads the environment once per process, so a test that sets
	// it proves little; the field is what decides.
	c, err := New(allow("a.example"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.transport.Proxy != nil {
		t.Error("the transport asks for a proxy")
	}
}
