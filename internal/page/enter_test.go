package page_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
)

// serveTokens serves a configuration with principals of which each has a token. It returns
// the tokens by name.
func serveTokens(t *testing.T) (s *server, tokens map[string]string) {
	t.Helper()
	tokens = map[string]string{}
	text := configuration
	for name, rights := range map[string]string{
		"watcher": `personalities: [], permissions: ["page:read"]`,
		"oncall":  `personalities: [], permissions: ["page:read", "approvals:decide", "calls:stop"]`,
		"robot":   `personalities: [], permissions: ["approvals:decide"]`,
		"old":     `personalities: [], permissions: ["page:read"], expires: 2026-01-01`,
	} {
		token, hash := auth.NewToken()
		tokens[name] = token
		text += fmt.Sprintf("  %s: {token_sha256: %q, %s}\n", name, hash, rights)
	}
	return serve(t, text), tokens
}

// enterToken sends the form for a token.
func (v *visitor) enterToken(token string) (status int, body string) {
	v.t.Helper()
	return v.post("/page/signin", url.Values{"token": {token}})
}

// newToken makes a principal of the state that may look, and returns its token.
func (s *server) newToken(t *testing.T, name string) string {
	t.Helper()
	token, err := s.rt.Callers.Add(t.Context(), auth.Record{Name: name, Permissions: []string{"page:read"}, Personalities: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestATokenSignsIn(t *testing.T) {
	t.Parallel()
	s, tokens := serveTokens(t)
	id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	// One that calls tools has every permission, and looks all the same.
	dev, err := s.rt.Callers.Add(t.Context(), auth.Record{Name: "dev", Permissions: []string{"page:read", "approvals:decide", "calls:stop"}, Personalities: []string{"default"}})
	if err != nil {
		t.Fatal(err)
	}
	tokens["dev"] = dev
	for _, name := range []string{"watcher", "dev", "oncall"} {
		v, decides := s.visit(t), name == "oncall"
		status, body := v.enterToken(tokens[name])
		if status != 200 || !strings.Contains(body, "Sign out") || !strings.Contains(body, `id="held-`+id) {
			t.Fatalf("%s: signing in = %d: %s", name, status, body)
		}
		if strings.Contains(body, "reads only") == decides || strings.Contains(body, "/page/decide") != decides {
			t.Errorf("%s decides: want %v", name, decides)
		}
		if _, body := v.get("/page/health"); !strings.Contains(body, "by token, until") {
			t.Errorf("%s: the page does not say how people signed in", name)
		}
		// A form that this sign-in could not have been shown, with its own word.
		_, csrf, _ := strings.Cut(body, `name="csrf" value="`)
		csrf, _, _ = strings.Cut(csrf, `"`)
		f := url.Values{"csrf": {csrf}, "id": {id}, "answer": {"refuse"}}
		if status, _ := v.post("/page/decide", f); (status == 200) != decides {
			t.Errorf("%s: a decision = %d", name, status)
		}
		for _, c := range v.client.Jar.Cookies(mustParse(t, s.url)) {
			if c.Value == tokens[name] {
				t.Errorf("%s: the cookie is the token", name)
			}
		}
		if decides {
			if a, err := s.rt.Approvals.Get(t.Context(), id); err != nil || a.DecidedBy != name {
				t.Errorf("decided by %q, %v, want %s", a.DecidedBy, err, name)
			}
		}
	}
}

// TestATokenLeavesNoTrace: the way is recorded, and the token neither kept nor recorded.
func TestATokenLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s, tokens := serveTokens(t)
	if status, body := s.visit(t).enterToken(tokens["watcher"]); status != 200 {
		t.Fatalf("signing in = %d: %s", status, body)
	}
	ways := ""
	for e, err := range audit.Events(t.Context(), s.rt.State, audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("%+v %+v", e, e.Change); strings.Contains(text, tokens["watcher"]) || strings.Contains(text, auth.HashToken(tokens["watcher"])) {
			t.Errorf("the record has the token: %s", text)
		}
		ways += fmt.Sprintf("%s %s by %s: %s", e.Change.Action, e.Change.Target, e.Principal, e.Change.Detail)
	}
	if want := "page.sign-in watcher by watcher: token"; ways != want {
		t.Errorf("recorded %q, want %q", ways, want)
	}
	if text, _, err := s.rt.Settings.Get(t.Context(), "page.people"); err != nil || strings.Contains(text, tokens["watcher"]) || !strings.Contains(text, "watcher") {
		t.Errorf("the state keeps %q, %v", text, err)
	}
}

// TestOtherTokensOpenNothing: one answer, whatever the cause, and no cookie.
func TestOtherTokensOpenNothing(t *testing.T) {
	t.Parallel()
	s, tokens := serveTokens(t)
	if err := s.rt.Switches.Stop(t.Context(), auth.SwitchPrincipal, "watcher", ""); err != nil {
		t.Fatal(err)
	}
	first := ""
	for _, token := range []string{
		"", "sallyport_unknown", tokens["robot"], tokens["old"], tokens["watcher"], strings.Repeat("x", 600), auth.HashToken(tokens["oncall"]),
	} {
		v := s.visit(t)
		status, body := v.enterToken(token)
		if first == "" {
			first = body
		}
		if status != 401 || body != first || !strings.Contains(body, "does not open the page") {
			t.Errorf("%.20q = %d: %s", token, status, body)
		}
		if c := v.client.Jar.Cookies(mustParse(t, s.url)); len(c) > 0 {
			t.Errorf("%.20q: cookies %v", token, c)
		}
	}
	if got := s.changes(t); len(got) > 0 {
		t.Errorf("recorded %q, want nothing", got)
	}
}

// TestASignInByATokenEndsWithTheToken revokes, replaces and stops.
func TestASignInByATokenEndsWithTheToken(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	for name, end := range map[string]func() error{
		"revoked": func() error { return s.rt.Callers.Revoke(t.Context(), "revoked") },
		"rotated": func() error { _, err := s.rt.Callers.Rotate(t.Context(), "rotated", time.Time{}); return err },
		"stopped": func() error { return s.rt.Switches.Stop(t.Context(), auth.SwitchPrincipal, "stopped", "") },
	} {
		v := s.visit(t)
		if status, body := v.enterToken(s.newToken(t, name)); status != 200 {
			t.Fatalf("%s: signing in = %d: %s", name, status, body)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if status, _ := v.get("/"); status != 401 {
			t.Errorf("%s: / = %d, want 401", name, status)
		}
	}
	// When everything is stopped, people look on, and can release it.
	token := s.newToken(t, "ruth")
	if err := s.rt.Switches.Stop(t.Context(), auth.SwitchEverything, auth.Everything, ""); err != nil {
		t.Fatal(err)
	}
	if status, body := s.visit(t).enterToken(token); status != 200 {
		t.Errorf("signing in while everything is stopped = %d: %s", status, body)
	}
}

// TestNoOtherSiteSignsAPersonIn sends the form as the page of another site would: a person who
// looks at the page then looks under the name of another.
func TestNoOtherSiteSignsAPersonIn(t *testing.T) {
	t.Parallel()
	s, tokens := serveTokens(t)
	for name, header := range map[string]map[string]string{
		"another site":      {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
		"another port":      {"Origin": "http://127.0.0.1:9", "Sec-Fetch-Site": "same-site"},
		"a page of no site": {"Origin": "null"},
		"no origin":         {},
		"cross-site alone":  {"Origin": s.url, "Sec-Fetch-Site": "cross-site"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/page/signin", strings.NewReader(url.Values{"token": {tokens["oncall"]}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for k, v := range header {
			r.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, body := readAnswer(t, res); res.StatusCode != 403 || len(res.Cookies()) > 0 {
			t.Errorf("%s: %d, cookies %v: %s", name, res.StatusCode, res.Cookies(), body)
		}
	}
	v := s.visit(t)
	if status, _ := v.get("/page/signin?token=" + tokens["oncall"]); status != 401 {
		t.Errorf("a token in the address = %d, want 401", status)
	}
	if status, _ := v.post("/", url.Values{"token": {tokens["oncall"]}}); status != 401 {
		t.Errorf("a token at another path = %d, want 401", status)
	}
}

// TestTokensAreNotGuessed: after ten tries not even the right token signs in.
func TestTokensAreNotGuessed(t *testing.T) {
	t.Parallel()
	s, tokens := serveTokens(t)
	v := s.visit(t)
	for i := range 10 {
		if status, _ := v.enterToken(fmt.Sprint("guess", i)); status != 401 {
			t.Fatalf("try %d = %d, want 401", i+1, status)
		}
	}
	if status, body := v.enterToken(tokens["oncall"]); status != 429 || !strings.Contains(body, "Too many tries") {
		t.Errorf("one more try = %d, want 429: %s", status, body)
	}
	// A link is not guessed: it signs in all the same.
	s.signIn(t, "alice", true)
}

// TestATokenDecidesNothingOfItsOwn: who asks for a call does not allow it at the page.
func TestATokenDecidesNothingOfItsOwn(t *testing.T) {
	t.Parallel()
	s, tokens := serveTokens(t)
	id := s.hold(t, "oncall", `{"path":"a.txt","content":"x"}`)
	v := s.visit(t)
	if status, body := v.enterToken(tokens["oncall"]); status != 200 {
		t.Fatalf("signing in = %d: %s", status, body)
	}
	if status, _ := v.decideCall(id, "once"); status != 409 {
		t.Errorf("a yes to an own call = %d, want 409", status)
	}
	if a, err := s.rt.Approvals.Get(t.Context(), id); err != nil || a.State != sallyport.ApprovalPending {
		t.Errorf("the held call is %s, %v", a.State, err)
	}
}
