package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// Without authentication a request without a token is the named principal's;
// one with a token that is not known is refused all the same.
func TestGuardAnonymous(t *testing.T) {
	token, hash := auth.NewToken()
	tokens := auth.Single{Hash: hash, Owner: sallyport.Principal{Name: "owner"}}
	now := sallyport.Principal{Name: "nobody"}
	anonymous := func() sallyport.Principal { return now }
	g, err := auth.NewGuard("127.0.0.1:80", tokens, &auth.GuardOptions{Anonymous: anonymous, Hosts: []string{"localhost:8080"}})
	if err != nil {
		t.Fatal(err)
	}
	h := g.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := auth.PrincipalFrom(r.Context())
		_, _ = w.Write([]byte(p.Name))
	}))
	for _, c := range []struct {
		name, header string
		status       int
		body         string
	}{
		{"no token", "", http.StatusOK, "nobody"},
		{"a token", "Bearer " + token, http.StatusOK, "owner"},
		{"another token", "Bearer x" + token, http.StatusUnauthorized, ""},
		{"another scheme", "Basic eDp5", http.StatusUnauthorized, ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || c.body != "" && w.Body.String() != c.body {
			t.Errorf("%s: %d %q, want %d %q", c.name, w.Code, w.Body, c.status, c.body)
		}
	}
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"} {
		r, w := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil), httptest.NewRecorder()
		r.Header.Set(header, "for=192.0.2.60")
		if h.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
			t.Errorf("a request that a proxy passed on with %s: %d, want 401", header, w.Code)
		}
	}
	now.Name = "other"
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)); w.Body.String() != "other" {
		t.Errorf("after a change the anonymous caller is %q, want other", w.Body)
	}
	if _, err := auth.NewGuard("192.0.2.1:80", tokens, &auth.GuardOptions{Anonymous: anonymous}); err == nil {
		t.Error("a guard of an address that others can reach lets anybody in")
	}
	if _, err := auth.NewGuard("127.0.0.1:80", tokens, &auth.GuardOptions{Anonymous: anonymous, Hosts: []string{"gate.example.com:443"}}); err == nil {
		t.Error("a guard of a name by which others come lets anybody in")
	}
}
