package upstream_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/lock"
)

// testPrivate is the key of the client, testKey its text.
var testPrivate, testKey = func() (*ecdsa.PrivateKey, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}()

func wants(t *testing.T, what, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%s: %q, want it to contain %q", what, text, want)
	}
}

// TestALoginOpensAServer goes the whole way of a user: the refusal that says
// what to do, the page, the call, and a later start of the program.
func TestALoginOpensAServer(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	c := newClient(t, i, nil)
	res := c.discover()
	if res.OK {
		t.Fatal("the server answered a client without a token")
	}
	wants(t, "without a token", res.Error, "the MCP server far wants a login of local: run sallyport login far")
	if res := c.login("local"); !res.OK {
		t.Fatalf("login: %s", res.Error)
	}
	asked := i.asked[0]
	for key, want := range map[string]string{
		"response_type": "code", "client_id": "sallyport-here", "redirect_uri": redirectURL, "resource": i.resource.URL + "/mcp",
		"code_challenge_method": "S256", "scope": "tools:use",
	} {
		if got := asked.Get(key); got != want {
			t.Errorf("the person was asked with %s = %q, want %q", key, got, want)
		}
	}
	if got := i.requests[0].Get("resource"); got != i.resource.URL+"/mcp" {
		t.Errorf("the token was asked for the resource %q", got)
	}
	if res := c.discover(); !res.OK {
		t.Fatalf("after the login: %s", res.Error)
	}
	res = c.echo("local", "hello")
	wants(t, "echo", inside(res), "hello Bearer [REDACTED:secret]")
	// Another principal cannot use these tokens.
	wants(t, "another user", c.echo("ann", "hello").Error, "wants a login of ann")
	// The tokens are kept across starts of the program.
	c.open()
	if res := c.discover(); !res.OK {
		t.Errorf("after a start: %s", res.Error)
	}
}

// TestATokenIsRenewed lets the access token expire.
func TestATokenIsRenewed(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	c := newClient(t, i, nil)
	c.login("local")
	c.discover()
	i.do(func() { clear(i.good) })
	if res := c.echo("local", "hello"); !res.OK {
		t.Fatalf("after the token has ended: %s", res.Error)
	}
	last := i.requests[len(i.requests)-1]
	if len(i.requests) != 2 || last.Get("grant_type") != "refresh_token" || last.Get("resource") != i.resource.URL+"/mcp" {
		t.Errorf("%d requests for tokens, the last %v, want one more to renew it for the resource", len(i.requests), last)
	}
	// The refresh token was replaced: the next renewal uses the new one.
	i.do(func() { clear(i.good) })
	if res := c.echo("local", "hello"); !res.OK {
		t.Fatalf("after the second token has ended: %s", res.Error)
	}
}

// TestARenewalIsDoneOnce: many calls find an expired token at once.
func TestARenewalIsDoneOnce(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	c := newClient(t, i, nil)
	c.login("local")
	c.discover()
	c.echo("local", "the connection is there")
	const atOnce = 8 // as many as one connection works on
	i.do(func() {
		clear(i.good)
		i.refused = 0
		i.at["/token"] = func(w http.ResponseWriter, r *http.Request) {
			for wait := true; wait; runtime.Gosched() {
				i.do(func() { wait = i.refused < atOnce && r.Context().Err() == nil })
			}
			i.serveToken(w, r)
		}
	})
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if res := c.echo("local", "hello"); !res.OK {
				t.Errorf("a call at the same time: %s", res.Error)
			}
		})
	}
	calls.Wait()
	if len(i.requests) != 2 {
		t.Errorf("%d requests for tokens, want the login's and one renewal", len(i.requests))
	}
}

// TestARenewalBeforeTheEnd renews a token that expires soon, before it is
// refused.
func TestARenewalBeforeTheEnd(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	i.token = map[string]any{"expires_in": 1}
	c := newClient(t, i, nil)
	c.login("local")
	i.do(func() { i.token = nil })
	c.discover()
	if len(i.requests) != 2 || i.requests[1].Get("grant_type") != "refresh_token" {
		t.Errorf("requests for tokens = %v, want a renewal", i.requests)
	}
}

// TestARefusedRenewalNeedsAPerson: the error says what to do, and a login
// repairs it at once, without a pause.
func TestARefusedRenewalNeedsAPerson(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	c := newClient(t, i, nil)
	c.login("local")
	c.discover()
	i.do(func() { clear(i.good); clear(i.renews) })
	for range 2 {
		wants(t, "a refused renewal", c.echo("local", "hello").Error, "run sallyport login far")
	}
	if len(i.requests) != 2 {
		t.Errorf("%d requests for tokens, want one renewal that is not tried again", len(i.requests))
	}
	c.login("local")
	if res := c.echo("local", "hello"); !res.OK {
		t.Errorf("after another login: %s", res.Error)
	}
}

// TestAnotherProgramWasFaster: two programs on one state renew a token at once.
// The one that is refused uses the token of the other, and removes nothing.
func TestAnotherProgramWasFaster(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	c := newClient(t, i, nil)
	c.login("local")
	c.discover()
	other := newClient(t, i, nil)
	other.kept = c.kept
	other.open()
	other.discover()
	i.do(func() {
		clear(i.good)
		i.at["/token"] = func(w http.ResponseWriter, r *http.Request) {
			i.do(func() { delete(i.at, "/token") })
			// While the first program waits, the second one renews the token.
			if res := other.echo("local", "x"); !res.OK {
				t.Errorf("the faster program: %s", res.Error)
			}
			i.serveToken(w, r)
		}
	})
	if res := c.echo("local", "x"); !res.OK {
		t.Errorf("the slower program: %s", res.Error)
	}
	if res := other.echo("local", "x"); !res.OK {
		t.Errorf("the faster program afterwards: %s", res.Error)
	}
}

// TestAServerThatWantsMore names the scope, and the next login requests it. The
// login never requests more than the operator wrote.
func TestAServerThatWantsMore(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	c := newClient(t, i, nil)
	c.login("local")
	c.discover()
	i.do(func() { i.wants = []string{"tools:use", "files:write"} })
	wants(t, "too little", c.echo("local", "x").Error, `wants more of local, the scope "tools:use files:write": run sallyport login far`)
	c.login("local")
	if got := i.asked[1].Get("scope"); got != "tools:use files:write" {
		t.Errorf("the second login asked for %q", got)
	}
	if res := c.echo("local", "x"); !res.OK {
		t.Errorf("with the wider token: %s", res.Error)
	}
	bound := newClient(t, i, func(s *upstream.Server) { s.OAuth.Scopes = []string{"tools:use"} })
	bound.login("local")
	if got := i.asked[2].Get("scope"); got != "tools:use" {
		t.Errorf("the login asked for %q, want what the operator wrote", got)
	}
	wants(t, "beyond the operator's scopes", bound.discover().Error, `the scope "files:write", which oauth.scopes does not list`)
}

// TestASharedServerHasOneLogin for all principals.
func TestASharedServerHasOneLogin(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	c := newClient(t, i, func(s *upstream.Server) { s.Shared = true })
	c.login("whoever")
	c.discover()
	for _, principal := range []string{"local", "ann"} {
		if res := c.echo(principal, "x"); !res.OK {
			t.Errorf("%s: %s", principal, res.Error)
		}
	}
}

// TestTheGatesOwnAccount uses client credentials, with a secret and with a key.
func TestTheGatesOwnAccount(t *testing.T) {
	t.Parallel()
	for name, declare := range map[string]func(*oauth.Server){
		"secret": func(s *oauth.Server) { s.ClientSecret = "far/secret" },
		"key":    func(s *oauth.Server) { s.PrivateKey = "far/key" },
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuing(t)
			c := newClient(t, i, func(s *upstream.Server) {
				s.OAuth.Grant = oauth.ClientCredentials
				declare(s.OAuth)
			})
			if res := c.discover(); !res.OK {
				t.Fatalf("discovery: %s", res.Error)
			}
			wants(t, "echo", inside(c.echo("local", "hello")), "hello Bearer [REDACTED:secret]")
			// A wider token needs no login.
			i.do(func() { i.wants = []string{"tools:use", "files:write"} })
			if res := c.echo("local", "x"); !res.OK {
				t.Errorf("a server that wants more: %s", res.Error)
			}
			q := i.requests[0]
			switch {
			case q.Get("grant_type") != "client_credentials", q.Get("scope") != "tools:use", q.Get("resource") != i.resource.URL+"/mcp":
				t.Errorf("the token was asked with %v", q)
			case name == "secret" && q.Get("authorization") != "Basic c2FsbHlwb3J0LWhlcmU6dGhlLXNlY3JldC1vZi10aGUtY2xpZW50":
				t.Errorf("the client said who it is with %q", q.Get("authorization"))
			case name == "key":
				i.checkAssertion(t, q)
			}
		})
	}
}

func (i *issuing) checkAssertion(t *testing.T, q url.Values) {
	t.Helper()
	signed, err := jwt.ParseSigned(q.Get("client_assertion"), []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	var claims jwt.Claims
	if err := signed.Claims(testPrivate.Public(), &claims); err != nil {
		t.Fatal(err)
	}
	if claims.Issuer != "sallyport-here" || claims.Subject != "sallyport-here" || !claims.Audience.Contains(i.issuer.URL) || claims.ID == "" {
		t.Errorf("the assertion says %+v", claims)
	}
}

// TestARegistration is done only where the operator allows it.
func TestARegistration(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	i.metadata["registration_endpoint"] = i.issuer.URL + "/register"
	i.metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	registered := 0
	i.at["/register"] = registrar(&registered)
	c := newClient(t, i, nil)
	c.login("local")
	if registered != 0 {
		t.Error("the client registered itself although it has a name")
	}
	c = newClient(t, i, func(s *upstream.Server) { *s.OAuth = oauth.Server{Register: true} })
	if res := c.login("local"); !res.OK || registered != 1 {
		t.Fatalf("a login with %d registrations: %s", registered, res.Error)
	}
	if q := i.requests[1]; q.Get("client_id") != "the-new-client" || q.Get("client_secret") != "the-new-secret" {
		t.Errorf("the new client said who it is with %v", q)
	}
	if res := c.discover(); !res.OK {
		t.Errorf("as the new client: %s", res.Error)
	}
}

// TestADocumentNamesTheClient where the issuer supports such documents.
func TestADocumentNamesTheClient(t *testing.T) {
	t.Parallel()
	const document = "https://gate.example.com/client.json"
	i := newIssuing(t)
	declare := func(s *upstream.Server) { *s.OAuth = oauth.Server{Document: document} }
	wants(t, "an issuer that takes none", newClient(t, i, declare).login("local").Error, "its issuer does not know this client")
	i.metadata["client_id_metadata_document_supported"] = true
	if res := newClient(t, i, declare).login("local"); !res.OK || i.asked[0].Get("client_id") != document {
		t.Errorf("login: %s, asked with %v", res.Error, i.asked)
	}
}

// TestNoGateNoToken: the user opens the page without the gate, but every
// request of this program needs the grant.
func TestNoGateNoToken(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	c := newClient(t, i, func(s *upstream.Server) { s.Capabilities.Network = nil })
	res := c.loginAsking("local", func(context.Context, oauth.Consent) (url.Values, error) {
		t.Error("a person was asked")
		return nil, nil
	})
	wants(t, "an issuer that is not declared", res.Error, "HOST_NOT_ALLOWED: "+host(i.issuer.URL)+" is not in the declared allowedHosts")
	// Writing the issuer down declares it.
	c = newClient(t, i, func(s *upstream.Server) { s.Capabilities.Network, s.OAuth.Issuer = nil, i.issuer.URL })
	if res := c.login("local"); !res.OK {
		t.Errorf("an issuer that is written down: %s", res.Error)
	}
}

// TestALoginOpensAServerOfTheOlderTransport does the same over server-sent
// events.
func TestALoginOpensAServerOfTheOlderTransport(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "far"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil, nil
	})
	events := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
	i.on["/mcp"] = func(w http.ResponseWriter, r *http.Request) {
		good := false
		i.do(func() { _, good = i.good[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] })
		if !good {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		events.ServeHTTP(w, r)
	}
	c := newClient(t, i, func(s *upstream.Server) { s.Transport = lock.TransportSSE })
	wants(t, "without a token", c.discover().Error, "wants a login of local: run sallyport login far")
	if res := c.login("local"); !res.OK {
		t.Fatalf("login: %s", res.Error)
	}
	if res := c.discover(); !res.OK {
		t.Fatalf("after the login: %s", res.Error)
	}
	i.do(func() { clear(i.good) })
	if res := c.run(c.tools, "local", "mcp__far__echo", object{}); !res.OK {
		t.Errorf("after the token has ended: %s", res.Error)
	}
}
