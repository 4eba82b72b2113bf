package auth_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// TestThePageIsOpenedByItsCookieAlone: neither a token that calls tools nor the absence of
// one opens the page, and the cookie opens nothing else.
func TestThePageIsOpenedByItsCookieAlone(t *testing.T) {
	token, hash := auth.NewToken()
	cookie, cookieHash := auth.NewToken()
	agent := func() sallyport.Principal { return sallyport.Principal{Name: "local"} }
	var logged strings.Builder
	g, err := auth.NewGuard("127.0.0.1:7331", auth.Single{Hash: hash, Owner: agent()}, &auth.GuardOptions{
		Logger: slog.New(slog.NewTextHandler(&logged, nil)), Anonymous: agent, Pages: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/page") }, Cookie: "c",
		People:  auth.Single{Hash: cookieHash, Owner: sallyport.Principal{Name: "page:alice"}},
		SignIn:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
		Returns: func(r *http.Request) bool { return r.URL.Path != "/page" },
	})
	if err != nil {
		t.Fatal(err)
	}
	const form, own = "application/x-www-form-urlencoded", "http://127.0.0.1:7331"
	back := func(site, mode, dest string) map[string]string {
		return map[string]string{"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
	}
	tests := []struct {
		name, method, path string
		header             map[string]string
		want               int
	}{
		{"cookie", "GET", "/page", map[string]string{"Cookie": "c=" + cookie}, 200},
		{"no cookie", "GET", "/page", nil, 418},
		{"wrong cookie", "GET", "/page", map[string]string{"Cookie": "c=" + token}, 418},
		{"two cookies", "GET", "/page", map[string]string{"Cookie": "c=x; c=" + cookie}, 418},
		{"token", "GET", "/page", map[string]string{"Authorization": "Bearer " + token}, 418},
		{"token of the cookie", "GET", "/page", map[string]string{"Authorization": "Bearer " + cookie}, 418},
		{"cookie elsewhere", "GET", "/mcp", map[string]string{"Cookie": "c=" + cookie, "Authorization": "Bearer x"}, 401},
		{"rebound name", "GET", "/page", map[string]string{"Cookie": "c=" + cookie, "Host": "evil.example:7331"}, 403},
		{"other site", "GET", "/page", map[string]string{"Cookie": "c=" + cookie, "Sec-Fetch-Site": "cross-site"}, 403},
		{"other port", "GET", "/page", map[string]string{"Cookie": "c=" + cookie, "Sec-Fetch-Site": "same-site"}, 403},
		{"form", "POST", "/page", map[string]string{"Cookie": "c=" + cookie, "Content-Type": form, "Origin": own}, 200},
		{"form without origin", "POST", "/page", map[string]string{"Cookie": "c=" + cookie, "Content-Type": form}, 403},
		{"form of another site", "POST", "/page", map[string]string{"Cookie": "c=" + cookie, "Content-Type": form, "Origin": "https://evil.example"}, 403},
		{"form of no site", "POST", "/page", map[string]string{"Cookie": "c=" + cookie, "Content-Type": form, "Origin": "null"}, 403},
		{"plain text", "POST", "/page", map[string]string{"Cookie": "c=" + cookie, "Content-Type": "text/plain", "Origin": own}, 415},
		{"login leads back", "GET", "/page/back", back("cross-site", "navigate", "document"), 418},
		{"login of the same site leads back", "GET", "/page/back", back("same-site", "navigate", "document"), 418},
		{"login leads elsewhere", "GET", "/page", back("cross-site", "navigate", "document"), 403},
		{"login leads outside", "GET", "/mcp", back("cross-site", "navigate", "document"), 403},
		{"frame of another site", "GET", "/page/back", back("cross-site", "navigate", "iframe"), 403},
		{"script of another site", "GET", "/page/back", back("cross-site", "no-cors", "document"), 403},
		{"login leads back to another name", "GET", "/page/back", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Host": "evil.example:7331"}, 403},
		{"form of another site leads back", "POST", "/page/back", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Content-Type": form, "Origin": own}, 403},
		{"form elsewhere", "POST", "/mcp", map[string]string{"Authorization": "Bearer " + token, "Content-Type": form, "Origin": own}, 415},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := g.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if p, _ := auth.PrincipalFrom(r.Context()); p.Name != "page:alice" {
					t.Errorf("the page was opened by %q", p.Name)
				}
			}))
			r := httptest.NewRequest(tt.method, own+tt.path, strings.NewReader(""))
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			if host := tt.header["Host"]; host != "" {
				r.Host = host
			}
			logged.Reset()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d: %s", w.Code, tt.want, w.Body)
			}
			// A person who is not signed in yet is no refusal.
			_, cookie := tt.header["Cookie"]
			_, token := tt.header["Authorization"]
			if refused := tt.want >= 400 && (tt.want != http.StatusTeapot || cookie || token); refused != strings.Contains(logged.String(), "a request was refused") {
				t.Errorf("the log has %q", &logged)
			}
		})
	}
	if _, err := auth.NewGuard("127.0.0.1:1", auth.Single{}, &auth.GuardOptions{Pages: func(*http.Request) bool { return true }}); err == nil {
		t.Error("NewGuard with pages and without people = no error")
	}
}

// TestPeopleAloneSayWhoGoesOnLooking: an open page ends with its sign-in, and with nothing
// that ends calls, so that a person can release what is stopped.
func TestPeopleAloneSayWhoGoesOnLooking(t *testing.T) {
	const pause = time.Second
	for _, signedOut := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			people := tokensFunc(func() (sallyport.Principal, bool, error) {
				return sallyport.Principal{Name: "page:alice"}, !signedOut || time.Since(begin) < pause, nil
			})
			g, err := auth.NewGuard("127.0.0.1:7331", auth.Single{}, &auth.GuardOptions{
				Pause: pause, Pages: func(*http.Request) bool { return true }, Cookie: "c", People: people,
				Stands: func(context.Context, *sallyport.Principal) (bool, error) { return false, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			ended := false
			r := httptest.NewRequest("GET", "http://127.0.0.1:7331/page/events", nil)
			r.Header.Set("Cookie", "c=x")
			g.Protect(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
					ended = true
				case <-time.After(time.Minute):
				}
			})).ServeHTTP(httptest.NewRecorder(), r)
			if ended != signedOut {
				t.Errorf("the sign-in ended: %v; the page ended: %v", signedOut, ended)
			}
		})
	}
}
