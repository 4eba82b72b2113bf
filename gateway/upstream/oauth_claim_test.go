package upstream_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
)

const (
	grantJWT      = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// TestAWorkloadBringsItsStatement sends it to the issuer unchanged.
func TestAWorkloadBringsItsStatement(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	c := newClient(t, i, func(s *upstream.Server) {
		s.OAuth.Grant, s.OAuth.Assertion, s.OAuth.ClientSecret = oauth.JWTBearer, "far/statement", "far/secret"
	})
	c.secrets["far/statement"] = "the-statement.of-the.workload"
	if res := c.discover(); !res.OK {
		t.Fatalf("discovery: %s", res.Error)
	}
	wants(t, "echo", inside(c.echo("local", "hello")), "hello Bearer [REDACTED:secret]")
	q := i.requests[0]
	if q.Get("grant_type") != grantJWT || q.Get("assertion") != "the-statement.of-the.workload" || q.Get("resource") != i.resource.URL+"/mcp" {
		t.Errorf("the token was asked for with %v", q)
	}
}

// identityProvider exchanges ID tokens for statements.
type identityProvider struct {
	*httptest.Server
	answer  map[string]any
	asked   http.Header
	request map[string][]string
}

func newIdentityProvider(t *testing.T) *identityProvider {
	t.Helper()
	p := &identityProvider{answer: map[string]any{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			write(w, 200, map[string]any{"issuer": p.URL, "token_endpoint": p.URL + "/token"})
		case "/token":
			_ = r.ParseForm()
			p.request, p.asked = r.PostForm, r.Header.Clone()
			write(w, 200, mergeDocument(map[string]any{
				"access_token": "the-new-secret-statement", "token_type": "N_A",
				"issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
			}, p.answer))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// TestAnIdentityProviderVouches: the provider makes a statement for the issuer,
// and no other host gets the ID token.
func TestAnIdentityProviderVouches(t *testing.T) {
	t.Parallel()
	i, p := newIssuing(t), newIdentityProvider(t)
	declare := func(s *upstream.Server) {
		s.OAuth.Grant, s.OAuth.Assertion = oauth.JWTBearer, "far/identity"
		s.OAuth.Provider = &oauth.Provider{Issuer: p.URL, ClientID: "us-there", ClientSecret: "far/secret"}
	}
	c := newClient(t, i, declare)
	c.secrets["far/identity"] = "the-id-token-of-ann.in-a.secret"
	wants(t, "a role without the provider", c.discover().Error, "HOST_NOT_ALLOWED: "+host(p.URL))
	c.policy.Allow = append(c.policy.Allow, host(p.URL))
	c.open()
	if res := c.discover(); !res.OK {
		t.Fatalf("discovery: %s", res.Error)
	}
	for key, want := range map[string]string{
		"grant_type": grantExchange, "subject_token": "the-id-token-of-ann.in-a.secret", "audience": i.issuer.URL,
		"resource": i.resource.URL + "/mcp", "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
	} {
		if got := p.request[key]; len(got) != 1 || got[0] != want {
			t.Errorf("the provider was asked with %s = %q, want %q", key, got, want)
		}
	}
	if p.asked.Get("Authorization") != "Basic dXMtdGhlcmU6dGhlLXNlY3JldC1vZi10aGUtY2xpZW50" {
		t.Errorf("the client said who it is there with %q", p.asked.Get("Authorization"))
	}
	if q := i.requests[0]; q.Get("grant_type") != grantJWT || q.Get("assertion") != "the-new-secret-statement" || q.Get("client_id") != "sallyport-here" {
		t.Errorf("the token was asked for with %v", q)
	}
	// A token that is not a statement for an issuer is sent to none.
	p.answer["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
	before := len(i.requests)
	other := newClient(t, i, declare)
	other.secrets["far/identity"] = "the-id-token-of-ann.in-a.secret"
	other.policy.Allow = append(other.policy.Allow, host(p.URL))
	other.open()
	wants(t, "another type", other.discover().Error, "no statement for an issuer")
	if len(i.requests) != before {
		t.Error("it was sent to the issuer")
	}
}
