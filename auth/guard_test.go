package auth_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

func TestGuardLetsOnlyItsOwnRequestsThrough(t *testing.T) {
	token, hash := auth.NewToken()
	g, err := auth.NewGuard("127.0.0.1:7331", auth.Single{Hash: hash, Owner: sallyport.Principal{Name: "local"}},
		&auth.GuardOptions{Open: []string{"/healthz"}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		method string
		path   string
		host   string
		header map[string]string
		want   int
	}{
		{name: "own host and token", want: 200},
		{name: "localhost", host: "localhost:7331", want: 200},
		{name: "v6 loopback", host: "[::1]:7331", want: 200},
		{name: "upper case host", host: "LOCALHOST:7331", want: 200},
		{name: "other port", host: "127.0.0.1:80", want: 403},
		{name: "no port", host: "127.0.0.1", want: 403},
		{name: "rebound name", host: "evil.example:7331", want: 403},
		{name: "trailing dot", host: "localhost.:7331", want: 403},
		{name: "unspecified address", host: "0.0.0.0:7331", want: 403},
		{name: "own origin", header: map[string]string{"Origin": "http://127.0.0.1:7331"}, want: 200},
		{name: "foreign origin", header: map[string]string{"Origin": "https://evil.example"}, want: 403},
		{name: "null origin", header: map[string]string{"Origin": "null"}, want: 403},
		{name: "empty origin", header: map[string]string{"Origin": ""}, want: 403},
		{name: "origin of another scheme", header: map[string]string{"Origin": "file://127.0.0.1:7331"}, want: 403},
		{name: "cross-site without origin", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 403},
		{name: "same-site", header: map[string]string{"Sec-Fetch-Site": "same-site"}, want: 403},
		{name: "form post", method: "POST", header: map[string]string{"Content-Type": "text/plain"}, want: 415},
		{name: "post without type", method: "POST", want: 415},
		{name: "compressed post", method: "POST", header: map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}, want: 415},
		{name: "json post", method: "POST", header: map[string]string{"Content-Type": "application/json; charset=utf-8"}, want: 200},
		{name: "no token", header: map[string]string{"Authorization": ""}, want: 401},
		{name: "wrong token", header: map[string]string{"Authorization": "Bearer " + strings.Repeat("x", 40)}, want: 401},
		{name: "wrong scheme", header: map[string]string{"Authorization": "Basic " + token}, want: 401},
		{name: "hash instead of token", header: map[string]string{"Authorization": "Bearer " + hash}, want: 401},
		{name: "health needs no token", path: "/healthz", header: map[string]string{"Authorization": ""}, want: 200},
		{name: "health of another host", path: "/healthz", host: "evil.example", header: map[string]string{"Authorization": ""}, want: 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ran := false
			h := g.Protect(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				ran = true
				if r.URL.Path != "/healthz" {
					if p, ok := auth.PrincipalFrom(r.Context()); !ok || p.Name != "local" {
						t.Errorf("PrincipalFrom() = %v, %v, want local", p, ok)
					}
				}
				if got := r.Header.Get("Authorization"); r.URL.Path != "/healthz" && got != "" {
					t.Errorf("the handler saw the token header %q", got)
				}
			}))
			r := httptest.NewRequest(or(tt.method, "GET"), "http://127.0.0.1:7331"+or(tt.path, "/mcp"), nil)
			r.Host = or(tt.host, "127.0.0.1:7331")
			r.Header.Set("Authorization", "Bearer "+token)
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.want || ran != (tt.want == 200) {
				t.Errorf("status = %d, handler ran = %v, want status %d", w.Code, ran, tt.want)
			}
		})
	}
}

func TestGuardKnowsThePortThatClientsLeaveOut(t *testing.T) {
	token, hash := auth.NewToken()
	for port, want := range map[string]int{"80": 200, "443": 403, "7331": 403} {
		g, err := auth.NewGuard(net.JoinHostPort("127.0.0.1", port), auth.Single{Hash: hash, Owner: sallyport.Principal{Name: "local"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		h := g.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
			r := httptest.NewRequest("GET", "http://"+host+"/", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("Host %s at port %s: status %d, want %d", host, port, w.Code, want)
			}
			overTLS := map[string]int{"443": 200, "7331": 403}[port]
			r = httptest.NewRequest("GET", "https://"+host+"/", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w = httptest.NewRecorder()
			if h.ServeHTTP(w, r); overTLS != 0 && w.Code != overTLS {
				t.Errorf("Host %s at port %s over TLS: status %d, want %d", host, port, w.Code, overTLS)
			}
		}
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func TestGuardRefusesToStand(t *testing.T) {
	if _, err := auth.NewGuard("127.0.0.1:1", nil, nil); err == nil {
		t.Error("NewGuard without tokens = nil error, want one")
	}
	if _, err := auth.NewGuard("nonsense", auth.Single{}, nil); err == nil {
		t.Error("NewGuard without a port = nil error, want one")
	}
}

func TestEmptyHashMatchesNothing(t *testing.T) {
	for _, token := range []string{"", "x", auth.HashToken("")} {
		if _, ok, err := (auth.Single{}).Principal(t.Context(), token); ok || err != nil {
			t.Errorf("Single{}.Principal(%q) = true, want false", token)
		}
	}
}

func TestTokensDiffer(t *testing.T) {
	a, ha := auth.NewToken()
	b, hb := auth.NewToken()
	if a == b || ha == hb || len(a) < 40 || strings.Contains(ha, a) {
		t.Errorf("NewToken() twice gave %d and %d characters, equal = %v", len(a), len(b), a == b)
	}
	if auth.HashToken(a) != ha {
		t.Error("HashToken(token) differs from the hash that NewToken returned")
	}
}
