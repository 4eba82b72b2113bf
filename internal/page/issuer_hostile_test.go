package page_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/page"
)

// TestHostileLogins each fails, and says why with no more than is clean.
func TestHostileLogins(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	stranger := newKey(t)
	now := time.Now()
	claim := func(key string, v any) func() { return func() { p.claims = map[string]any{key: v} } }
	edit := func(change func(q url.Values)) func(back string) string {
		return func(back string) string {
			u, err := url.Parse(back)
			if err != nil {
				t.Fatal(err)
			}
			q := u.Query()
			change(q)
			u.RawQuery = q.Encode()
			return u.String()
		}
	}
	tests := map[string]struct {
		provider func()                   // what the provider does
		back     func(back string) string // what becomes of the address
		status   int
		want     string
	}{
		"forged state":        {back: edit(func(q url.Values) { q.Set("state", "x") }), want: "did not begin in this browser"},
		"no state":            {back: edit(func(q url.Values) { q.Del("state") }), want: "did not begin in this browser"},
		"two states":          {back: edit(func(q url.Values) { q.Add("state", "x") }), want: "did not begin in this browser"},
		"two codes":           {back: edit(func(q url.Values) { q.Add("code", "x") }), want: "did not begin in this browser"},
		"no code":             {back: edit(func(q url.Values) { q.Del("code") }), want: "sent no code"},
		"an unknown code":     {back: edit(func(q url.Values) { q.Set("code", "x") }), want: "invalid_grant"},
		"a long code":         {back: edit(func(q url.Values) { q.Set("code", strings.Repeat("x", 5000)) }), want: "too long"},
		"another issuer says": {back: edit(func(q url.Values) { q.Set("iss", "https://evil.example") }), want: "another issuer"},
		"an error with markup": {back: edit(func(q url.Values) {
			q.Set("error", "<script>alert(1)</script>\u202e")
			q.Set("error_description", strings.Repeat("x", 5000))
		}), want: "&lt;script&gt;"},
		"wrong nonce":       {provider: claim("nonce", "x"), want: "nonce"},
		"no nonce":          {provider: claim("nonce", nil), want: "nonce"},
		"other audience":    {provider: claim("aud", "sallyport"), want: "aud"},
		"other party":       {provider: claim("azp", "evil"), want: "azp"},
		"several audiences": {provider: claim("aud", []string{"page", "evil"}), want: "azp"},
		"other issuer":      {provider: claim("iss", "https://evil.example"), want: "issue"},
		"expired":           {provider: claim("exp", now.Add(-time.Hour).Unix()), want: "expired"},
		"from the future":   {provider: claim("iat", now.Add(time.Hour).Unix()), want: "future"},
		"no name":           {provider: claim("sub", nil), want: "sub is missing"},
		"another key":       {provider: func() { p.signer = stranger }, want: "signature"},
		"no ID token": {provider: func() {
			p.answer = func(w http.ResponseWriter) { fmt.Fprint(w, `{"access_token":"a","token_type":"Bearer"}`) }
		}, want: "no ID token"},
		"an endless answer": {provider: func() {
			p.answer = func(w http.ResponseWriter) { fmt.Fprint(w, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`) }
		}, want: "did not answer"},
		"an answer that leads away": {provider: func() {
			p.answer = func(w http.ResponseWriter) { w.Header().Set("Location", "/token"); w.WriteHeader(307) }
		}, want: "did not answer"},
		"no page:read":     {provider: claim("roles", []string{"approvals:decide", "calls:stop"}), status: 403, want: "does not hold page:read"},
		"no permission":    {provider: claim("roles", nil), status: 403, want: "does not hold page:read"},
		"a stopped person": {provider: claim("sub", "stopped"), status: 403, want: "is stopped"},
	}
	for name, tt := range tests {
		p.do(func() { p.claims, p.signer, p.answer = map[string]any{}, nil, nil })
		s := serve(t, p.issued(""))
		if err := s.rt.Switches.Stop(t.Context(), auth.SwitchPrincipal, "oidc:stopped", ""); err != nil {
			t.Fatal(err)
		}
		v := s.visit(t)
		back := v.atProvider()
		if tt.provider != nil {
			p.do(tt.provider)
		}
		if tt.back != nil {
			back = tt.back(back)
		}
		res, body := v.goTo(back, led)
		if want := cmp.Or(tt.status, 401); res.StatusCode != want || !strings.Contains(body, tt.want) {
			t.Errorf("%s = %d, want %d with %q: %s", name, res.StatusCode, want, tt.want, body)
		}
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "\u202e") || len(body) > 8000 {
			t.Errorf("%s is shown as it came: %s", name, body)
		}
		if status, _ := v.get("/"); status != 401 {
			t.Errorf("%s: / = %d, want 401", name, status)
		}
		if got := strings.Join(s.changes(t), ", "); strings.Contains(got, "page.sign-in") {
			t.Errorf("%s: recorded %q", name, got)
		}
	}
}

// TestALoginEndsInItsBrowserOnce replays what a provider sent, and takes it elsewhere.
func TestALoginEndsInItsBrowserOnce(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serve(t, p.issued(""))
	mallory, alice := s.visit(t), s.visit(t)
	back := mallory.atProvider()
	// Mallory leads alice to the end of his own login: alice would decide as mallory.
	for _, prepare := range []func(){func() {}, func() { alice.atProvider() }} {
		prepare()
		if res, body := alice.goTo(back, led); res.StatusCode != 401 || !strings.Contains(body, "did not begin in this browser") {
			t.Errorf("the login of another browser = %d: %s", res.StatusCode, body)
		}
	}
	kept := mallory.client.Jar.Cookies(mustParse(t, s.url+"/page/oidc"))
	if res, _ := mallory.goTo(back, led); res.StatusCode != 200 {
		t.Fatalf("the own login = %d, want 200", res.StatusCode)
	}
	again := s.visit(t)
	again.client.Jar.SetCookies(mustParse(t, s.url+"/page/oidc"), kept)
	if res, body := again.goTo(back, led); res.StatusCode != 401 || !strings.Contains(body, "used before") {
		t.Errorf("the same answer again = %d: %s", res.StatusCode, body)
	}
	if len(p.asked) != 1 {
		t.Errorf("the provider was asked %d times for a token, want once", len(p.asked))
	}
	// Another program on this machine may have set the second cookie.
	two := s.visit(t)
	back = two.atProvider()
	if res, _ := two.goTo(back, merge(led, map[string]string{"Cookie": page.LoginCookie + "=x"})); res.StatusCode != 401 {
		t.Errorf("with two cookies = %d, want 401", res.StatusCode)
	}
}

func merge(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// TestALoginLeadsNowhereElse: what a request names as a place to go is not looked at, and
// only a browser whose whole window is led comes back from another site.
func TestALoginLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serve(t, p.issued(""))
	v := s.visit(t)
	const evil = "?redirect_uri=https://evil.example&next=//evil.example&return_to=https://evil.example&client_id=evil"
	for _, header := range []map[string]string{nil, {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}} {
		res, _ := v.goTo(s.url+"/page/oidc"+evil, header)
		to := mustParse(t, res.Header.Get("Location"))
		if got := to.Query().Get("redirect_uri"); !strings.HasPrefix(to.String(), p.URL+"/authorize?") || got != s.url+"/page/oidc/return" || to.Query().Get("client_id") != "page" {
			t.Errorf("the login leads to %s", to)
		}
	}
	back := v.atProvider()
	for name, header := range map[string]map[string]string{
		"frame":  merge(led, map[string]string{"Sec-Fetch-Dest": "iframe"}),
		"script": merge(led, map[string]string{"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}),
		"site":   merge(led, map[string]string{"Origin": "https://evil.example"}),
	} {
		if res, _ := v.goTo(back, header); res.StatusCode != 403 || len(res.Cookies()) > 0 {
			t.Errorf("%s = %d, cookies %v, want 403", name, res.StatusCode, res.Cookies())
		}
	}
	if res, _ := v.goTo(s.url+"/page/oidc", led); res.StatusCode != 403 {
		t.Errorf("another site begins a login = %d, want 403", res.StatusCode)
	}
	res, body := v.goTo(back+"&next=https://evil.example&url=//evil.example", led)
	if res.StatusCode != 200 || strings.Contains(body, "evil.example") || res.Header.Get("Location") != "" {
		t.Errorf("coming back = %d to %q: %s", res.StatusCode, res.Header.Get("Location"), body)
	}
}

// TestLoginsAreBounded: after ten answers of a minute no more is looked at.
func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serve(t, p.issued(""))
	v := s.visit(t)
	for range 10 {
		v.goTo(s.url+"/page/oidc/return?state=x&code=y", led)
	}
	if res, _ := v.goTo(v.atProvider(), led); res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
		t.Errorf("one more = %d, want 429", res.StatusCode)
	}
}
