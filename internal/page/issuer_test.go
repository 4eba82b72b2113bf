package page_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/page"
)

func TestAPersonSignsInThroughAProvider(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serve(t, p.issued(""))
	id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	v := s.visit(t)
	if _, body := v.get("/"); !strings.Contains(body, `href="/page/oidc">Sign in at <bdi>`+strings.TrimPrefix(p.URL, "http://")) {
		t.Errorf("the page does not show the way through the provider: %s", body)
	}
	res, body := v.goTo(v.atProvider(), led)
	if res.StatusCode != 200 || !strings.Contains(body, `<meta http-equiv="refresh" content="0; url=/">`) || !strings.Contains(body, "oidc:alice") {
		t.Fatalf("coming back = %d: %s", res.StatusCode, body)
	}
	for _, c := range res.Cookies() {
		switch {
		case c.Name == page.Cookie && (c.SameSite != http.SameSiteStrictMode || !c.HttpOnly || c.MaxAge > int(12*time.Hour/time.Second)):
			t.Errorf("the cookie of the sign-in is %v", c)
		case c.Name == page.LoginCookie && c.MaxAge >= 0:
			t.Errorf("the cookie of the login stays: %v", c)
		}
	}
	if status, body := v.get("/"); status != 200 || !strings.Contains(body, "oidc:alice") {
		t.Fatalf("/ = %d: %s", status, body)
	}
	if status, body := v.decideCall(id, "once"); status != 200 {
		t.Errorf("a decision = %d: %s", status, body)
	}
	if status, _ := v.post("/page/stop", url.Values{}); status != 403 {
		t.Errorf("a stop without calls:stop = %d, want 403", status)
	}
	signedIn := ""
	for e, err := range audit.Events(t.Context(), s.rt.State, audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == audit.KindChange && e.Change.Action == "page.sign-in" {
			signedIn += fmt.Sprintf("%s by %s: %s", e.Change.Target, e.Principal, e.Change.Detail)
		}
	}
	if want := "oidc:alice by oidc:alice: oidc"; signedIn != want {
		t.Errorf("recorded %q, want %q", signedIn, want)
	}
	if err := s.rt.Switches.Stop(t.Context(), auth.SwitchPrincipal, "oidc:alice", ""); err != nil {
		t.Fatal(err)
	}
	if status, _ := v.get("/"); status != 401 {
		t.Errorf("/ of a person who is stopped = %d, want 401", status)
	}
}

// TestAPersonAllowsNoCallOfItsOwnToken: a token of the same person calls under the same name.
func TestAPersonAllowsNoCallOfItsOwnToken(t *testing.T) {
	t.Parallel()
	s := serve(t, newProvider(t).issued(""))
	id := s.hold(t, "oidc:alice", `{"path":"a.txt","content":"x"}`)
	v := s.visit(t)
	v.goTo(v.atProvider(), led)
	if status, body := v.decideCall(id, "once"); status != 409 {
		t.Errorf("a yes to an own call = %d, want 409: %s", status, body)
	}
}

// TestAProviderThatIsGoneSignsInNoOne takes the provider out of the configuration.
func TestAProviderThatIsGoneSignsInNoOne(t *testing.T) {
	t.Parallel()
	s := serve(t, newProvider(t).issued(""))
	v, late := s.visit(t), s.visit(t)
	v.goTo(v.atProvider(), led)
	if status, _ := v.get("/"); status != 200 {
		t.Fatalf("/ = %d, want 200", status)
	}
	back := late.atProvider()
	s.rt.InForce().Config.Security.OIDC = nil
	if status, body := v.get("/"); status != 401 || strings.Contains(body, "/page/oidc") {
		t.Errorf("/ without the provider = %d, want 401: %s", status, body)
	}
	if res, _ := late.goTo(back, led); res.StatusCode != 401 || len(res.Cookies()) > 0 {
		t.Errorf("coming back = %d, cookies %v, want 401", res.StatusCode, res.Cookies())
	}
	if res, _ := late.goTo(s.url+"/page/oidc", nil); res.StatusCode != 401 {
		t.Errorf("/page/oidc = %d, want 401", res.StatusCode)
	}
}

// TestTheClientProvesWhoItIs has a client with a secret, and one whose secret is not there.
func TestTheClientProvesWhoItIs(t *testing.T) {
	t.Parallel()
	secrets := t.TempDir()
	if err := os.Chmod(secrets, 0o700); err != nil {
		t.Fatal(err)
	}
	p := newProvider(t)
	p.secret = "hunter2-hunter2-hunter2"
	s := serve(t, "secrets: [{dir: '"+secrets+"'}]\n"+p.issued(", client_secret_secret: page_client"))
	v := s.visit(t)
	if res, body := v.goTo(v.atProvider(), led); res.StatusCode != 401 || !strings.Contains(body, "no client secret") {
		t.Errorf("without the secret = %d, want 401: %s", res.StatusCode, body)
	}
	if err := os.WriteFile(filepath.Join(secrets, "page_client"), []byte(p.secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if res, body := v.goTo(v.atProvider(), led); res.StatusCode != 200 {
		t.Errorf("with the secret = %d: %s", res.StatusCode, body)
	}
	p.do(func() { p.secret = "another" })
	res, body := v.goTo(v.atProvider(), led)
	if res.StatusCode != 401 || !strings.Contains(body, "did not take the code: invalid_grant") || strings.Contains(body, "hunter2") {
		t.Errorf("with another secret = %d: %s", res.StatusCode, body)
	}
}

// TestTheOperatorEndsSignIns of each way by the name of the person.
func TestTheOperatorEndsSignIns(t *testing.T) {
	t.Parallel()
	s := serve(t, newProvider(t).issued(""))
	byLink, byToken, byProvider := s.signIn(t, "alice", true), s.visit(t), s.visit(t)
	byToken.enterToken(s.newToken(t, "alice"))
	byProvider.goTo(byProvider.atProvider(), led)
	for _, tt := range []struct {
		name  string
		ended int
		left  []*visitor
		gone  []*visitor
	}{
		{"bob", 0, []*visitor{byLink, byToken, byProvider}, nil},
		{"alice", 2, []*visitor{byProvider}, []*visitor{byLink, byToken}},
		{"oidc:alice", 1, nil, []*visitor{byLink, byToken, byProvider}},
	} {
		if n, err := page.EndSignIns(t.Context(), s.rt, tt.name); n != tt.ended || err != nil {
			t.Errorf("EndSignIns(%s) = %d, %v, want %d", tt.name, n, err, tt.ended)
		}
		for _, v := range tt.left {
			if status, _ := v.get("/"); status != 200 {
				t.Errorf("after %s: / = %d, want 200", tt.name, status)
			}
		}
		for _, v := range tt.gone {
			if status, _ := v.get("/"); status != 401 {
				t.Errorf("after %s: / = %d, want 401", tt.name, status)
			}
		}
	}
}
