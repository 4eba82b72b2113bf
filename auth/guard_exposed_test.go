package auth_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

func TestCheckExposure(t *testing.T) {
	long := strings.Repeat("k", 32)
	for _, tt := range []struct {
		name          string
		address       string
		authenticated bool
		chosen        []string
		ok            bool
	}{
		{"loopback without authentication", "127.0.0.1:7331", false, nil, true},
		{"loopback v6 without authentication", "[::1]:7331", false, nil, true},
		{"every address without authentication", "0.0.0.0:7331", false, nil, false},
		{"every address v6 without authentication", "[::]:7331", false, nil, false},
		{"no host without authentication", ":7331", false, nil, false},
		{"an address without authentication", "192.168.1.5:7331", false, nil, false},
		{"a name without authentication", "gate.example.com:7331", false, nil, false},
		{"a name that looks like loopback", "localhost.example.com:7331", false, nil, false},
		{"a long form of a number", "2130706433:7331", false, nil, false},
		{"every address", "0.0.0.0:7331", true, nil, true},
		{"a long token", "0.0.0.0:7331", true, []string{long}, true},
		{"a short token", "0.0.0.0:7331", true, []string{long, long[1:]}, false},
		{"an empty token", "0.0.0.0:7331", true, []string{""}, false},
		{"an empty token at loopback", "127.0.0.1:7331", true, []string{""}, false},
		{"a token that cannot be sent", "0.0.0.0:7331", true, []string{long + " x"}, false},
		{"no port", "127.0.0.1", true, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := auth.CheckExposure(tt.address, tt.authenticated, tt.chosen...); (err == nil) != tt.ok {
				t.Errorf("CheckExposure(%s) = %v, want ok %v", tt.address, err, tt.ok)
			} else if err != nil && strings.Contains(err.Error(), "kkkk") {
				t.Errorf("CheckExposure() = %v, which quotes the token", err)
			}
		})
	}
}

func TestGuardAtEveryAddress(t *testing.T) {
	token, hash := auth.NewToken()
	for _, listen := range []string{"0.0.0.0:7331", "[::]:7331", ":7331"} {
		g, err := auth.NewGuard(listen, auth.Single{Hash: hash, Owner: sallyport.Principal{Name: "local"}},
			&auth.GuardOptions{Hosts: []string{"gate.example.com"}})
		if err != nil {
			t.Fatal(err)
		}
		h := g.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for host, want := range map[string]int{
			"192.168.1.5:7331": 200, "localhost:7331": 200, "gate.example.com": 200, "GATE.example.com": 200,
			"192.168.1.6:7331": 403, "192.168.1.5": 403, "192.168.1.5:80": 403, "evil.example:7331": 403,
			"0.0.0.0:7331": 403, "[::]:7331": 403, ":7331": 403, "": 403,
		} {
			r := httptest.NewRequest("GET", "http://x/", nil)
			r.Host = host
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Origin", "http://"+host)
			local := &net.TCPAddr{IP: net.ParseIP("192.168.1.5"), Port: 7331}
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("listening at %s, Host %q: status %d, want %d", listen, host, w.Code, want)
			}
		}
	}
}

// answers is Tokens that always answer the same.
type answers struct {
	p   sallyport.Principal
	ok  bool
	err error
}

func (a answers) Principal(context.Context, string) (sallyport.Principal, bool, error) {
	return a.p, a.ok, a.err
}

func TestGuardLetsNobodyInWhoIsNotKnown(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tokens answers
		header []string
		want   int
	}{
		{"known", answers{p: sallyport.Principal{Name: "a"}, ok: true}, []string{"Bearer x"}, 200},
		{"scheme in another case", answers{p: sallyport.Principal{Name: "a"}, ok: true}, []string{"bearer x"}, 200},
		{"it is not known", answers{p: sallyport.Principal{Name: "a"}, ok: true, err: errors.New("driver: password=hunter2")}, []string{"Bearer x"}, 503},
		{"no name", answers{ok: true}, []string{"Bearer x"}, 401},
		{"two headers", answers{p: sallyport.Principal{Name: "a"}, ok: true}, []string{"Bearer x", "Bearer x"}, 401},
		{"two tokens", answers{p: sallyport.Principal{Name: "a"}, ok: true}, []string{"Bearer x, Bearer x"}, 401},
		{"a token that is no token", answers{p: sallyport.Principal{Name: "a"}, ok: true}, []string{"Bearer x\x00"}, 401},
		{"a token without end", answers{p: sallyport.Principal{Name: "a"}, ok: true}, []string{"Bearer " + strings.Repeat("x", 17<<10)}, 401},
		{"padding alone", answers{p: sallyport.Principal{Name: "a"}, ok: true}, []string{"Bearer =="}, 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := auth.NewGuard("127.0.0.1:7331", tt.tokens, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("GET", "http://127.0.0.1:7331/", nil)
			r.Header["Authorization"] = tt.header
			w := httptest.NewRecorder()
			ran := false
			g.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran = true })).ServeHTTP(w, r)
			if w.Code != tt.want || ran != (tt.want == 200) {
				t.Errorf("status = %d, ran = %v, want %d", w.Code, ran, tt.want)
			}
			if asks := w.Header().Get("WWW-Authenticate") != ""; asks != (tt.want == 401) {
				t.Errorf("WWW-Authenticate is set: %v, status %d", asks, w.Code)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the answer quotes the cause: %s", w.Body)
			}
		})
	}
}
