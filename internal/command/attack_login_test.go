package command

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An issuer names the page that a person has to open. An address that is no web
// page is neither printed nor given to any program.
func TestCVE_2025_6514_CVE_2025_53967_PagesToOpen(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	var page atomic.Value
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/oauth-authorization-server" {
			http.NotFound(w, r)
			return
		}
		answerJSON(w, 200, map[string]any{
			"issuer": g.issuer.URL, "authorization_endpoint": page.Load(), "token_endpoint": g.issuer.URL + "/token",
			"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		})
	}))
	t.Cleanup(evil.Close)
	g.issuer = evil
	dir := configured(t, g.config())
	for _, to := range []string{
		"file:///c:/windows/system32/calc.exe", "javascript:alert(1)", "a:$(touch${IFS}RAN)?x=y", "$(touch RAN)", "-oProxyCommand=touch RAN", "--help",
		"ssh://-oProxyCommand=touch/RAN", "\\\\evil.example\\share\\x.exe", "http://evil.example/authorize", "https://evil.example/\x1b]0;x\x07",
		"https://evil.example/\nhttps://other.example/", "https://user:password@evil.example/", "https:evil", "//evil.example/", "data:text/html,x", "",
	} {
		page.Store(to)
		// Only a failing test reaches this bound: login waits after it prints a
		// page.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		cmd := sallyportCommand(dir, "login", "far")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		if !stop() || err == nil {
			t.Errorf("login with the page %q = %v\n%s\nwant a refusal at once", to, err, out.Bytes())
		}
		cancel()
		if text := out.String(); to != "" && strings.Contains(text, to) && strings.ContainsAny(to, "\x1b\n") {
			t.Errorf("login with the page %q prints\n%s", to, text)
		}
	}
}
