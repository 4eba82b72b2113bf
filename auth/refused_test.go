package auth_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/auth"
)

// The operator reads why a login failed, the caller is told what RFC 6750 says, and
// no token is written anywhere.
func TestARefusedLoginIsLoggedWithItsReason(t *testing.T) {
	old, expired := auth.NewToken()
	gone, revoked := auth.NewToken()
	ended := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d, err := auth.NewDirectory(t.Context(), []auth.Record{
		{Name: "ci", TokenSHA256: expired, Expires: ended}, {Name: "bot", TokenSHA256: revoked, Revoked: ended},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	g, err := auth.NewGuard("127.0.0.1:7331", d, &auth.GuardOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	h := g.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request was let in") }))
	const invalid = `Bearer realm="sallyport", error="invalid_token", error_description="the token is malformed, unknown, expired or revoked"`
	for _, tt := range []struct {
		name, host, header, why, challenge string
		status                             int
	}{
		{"no header", "", "", "the request has no Authorization header", `Bearer realm="sallyport"`, 401},
		{"another scheme", "", "Basic " + old, "not of the scheme Bearer", invalid, 401},
		{"unknown", "", "Bearer sallyport_x", "no principal has this token", invalid, 401},
		{"expired", "", "Bearer " + old, "the token of ci expired at 2026-01-02T03:04:05Z", invalid, 401},
		{"revoked", "", "Bearer " + gone, "the token of bot was revoked at 2026-01-02T03:04:05Z", invalid, 401},
		{"another host", "evil.example", "Bearer " + old, "the Host header names another server", "", 403},
	} {
		log.Reset()
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:7331/"+strings.Repeat("x", 500), nil)
		if tt.host != "" {
			r.Host = tt.host
		}
		if tt.header != "" {
			r.Header.Set("Authorization", tt.header)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		line := log.String()
		if got := w.Header().Get("WWW-Authenticate"); w.Code != tt.status || got != tt.challenge {
			t.Errorf("%s: answered %d %q, want %d %q", tt.name, w.Code, got, tt.status, tt.challenge)
		}
		if strings.Count(line, "\n") != 1 || !strings.Contains(line, tt.why) || !strings.Contains(line, "remote=192.0.2.1:1234") {
			t.Errorf("%s: logged %q, want one line with %q and the address", tt.name, line, tt.why)
		}
		if strings.Contains(line, old) || strings.Contains(line, gone) || len(line) > 700 {
			t.Errorf("%s: logged %q, want no token and a bounded path", tt.name, line)
		}
	}
}
