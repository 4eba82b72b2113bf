package upstream_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// credentials are the operator's credentials, each in the grant that uses it.
var credentials = map[string]func(*upstream.Server){
	"client_secret_secret": func(s *upstream.Server) { s.OAuth.Grant, s.OAuth.ClientSecret = oauth.ClientCredentials, "far/secret" },
	"private_key_secret":   func(s *upstream.Server) { s.OAuth.Grant, s.OAuth.PrivateKey = oauth.ClientCredentials, "far/key" },
	"assertion_secret":     func(s *upstream.Server) { s.OAuth.Grant, s.OAuth.Assertion = oauth.JWTBearer, "far/secret" },
}

// thief is a server that claims to be an issuer and keeps what it is sent.
type thief struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
}

func newThief(t *testing.T) *thief {
	th := &thief{}
	th.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		th.mu.Lock()
		if r.Method == http.MethodPost {
			th.got = append(th.got, r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.PostForm.Encode())
		}
		th.mu.Unlock()
		write(w, 200, map[string]any{
			"issuer": th.URL, "token_endpoint": th.URL + "/token", "resource": th.URL, "authorization_servers": []string{th.URL},
			"access_token": "the-token-of-a-thief", "token_type": "Bearer",
		})
	}))
	t.Cleanup(th.Close)
	return th
}

func (th *thief) check(t *testing.T) {
	t.Helper()
	th.mu.Lock()
	defer th.mu.Unlock()
	if len(th.got) > 0 {
		t.Errorf("the thief was sent %q", th.got)
	}
}

func TestB1_ACredentialNeedsItsIssuer(t *testing.T) {
	t.Parallel()
	for key, declare := range credentials {
		s := upstream.Server{OAuth: &oauth.Server{ClientID: "us"}}
		declare(&s)
		if err := s.OAuth.Check(); err == nil || !strings.Contains(err.Error(), "issuer: expected beside "+key) {
			t.Errorf("%s without an issuer = %v", key, err)
		}
		if s.OAuth.Issuer = "https://login.example.com"; s.OAuth.Check() != nil {
			t.Errorf("%s with an issuer = %v", key, s.OAuth.Check())
		}
	}
}

// TestB1_AServerSteersNoCredential: the server, or its issuer's manipulated
// metadata, names another address for each kind of credential. The grant holds
// the thief's host for another purpose.
func TestB1_AServerSteersNoCredential(t *testing.T) {
	t.Parallel()
	type attack struct {
		steer func(*issuing, *thief)
		want  string
	}
	for name, tt := range map[string]attack{
		"the server names itself": {func(i *issuing, _ *thief) {
			i.described["authorization_servers"] = []string{i.resource.URL}
		}, "and oauth.issuer is"},
		"the server names another issuer": {func(i *issuing, th *thief) {
			i.described["authorization_servers"] = []string{th.URL}
		}, "and oauth.issuer is"},
		"another path of the issuer": {func(i *issuing, _ *thief) {
			i.described["authorization_servers"] = []string{i.issuer.URL + "/tenant/../evil"}
		}, "and oauth.issuer is"},
		"user information": {func(i *issuing, th *thief) {
			i.described["authorization_servers"] = []string{i.issuer.URL + "@" + strings.TrimPrefix(th.URL, "http://")}
		}, "and oauth.issuer is"},
		"the issuer and another one": {func(i *issuing, th *thief) {
			i.described["authorization_servers"] = []string{th.URL, i.issuer.URL}
		}, ""},
		"an endpoint elsewhere": {func(i *issuing, th *thief) {
			i.metadata["token_endpoint"] = th.URL + "/token"
		}, "which is elsewhere"},
		"an endpoint at the server": {func(i *issuing, _ *thief) {
			i.metadata["token_endpoint"] = i.resource.URL + "/token"
		}, "which is elsewhere"},
		"metadata of another issuer": {func(i *issuing, th *thief) {
			i.metadata["issuer"] = th.URL
		}, "it is of another issuer"},
		"metadata that is elsewhere": {func(i *issuing, th *thief) {
			i.at["/.well-known/oauth-authorization-server"] = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, th.URL+r.URL.Path, http.StatusFound)
			}
		}, "redirects to another origin"},
		"an endpoint that redirects": {func(i *issuing, th *thief) {
			i.at["/token"] = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, th.URL+"/token", http.StatusTemporaryRedirect)
			}
		}, "answered 307"},
		"another resource": {func(i *issuing, th *thief) {
			i.described["resource"] = th.URL
		}, "of another resource"},
	} {
		for key, declare := range credentials {
			t.Run(name+"/"+key, func(t *testing.T) {
				i, th := newIssuing(t), newThief(t)
				tt.steer(i, th)
				c := newClient(t, i, func(s *upstream.Server) {
					declare(s)
					s.Capabilities.Network.AllowedHosts = append(s.Capabilities.Network.AllowedHosts, host(th.URL))
				})
				c.policy.Allow = append(c.policy.Allow, host(th.URL))
				res := c.discover()
				if tt.want == "" && !res.OK || tt.want != "" && !strings.Contains(res.Error, tt.want) {
					t.Errorf("discovery = %t %q, want %q", res.OK, res.Error, tt.want)
				}
				th.check(t)
				if tt.want != "" && tt.want != "answered 307" && len(i.requests) > 0 {
					t.Errorf("the issuer was asked with %v", i.requests)
				}
			})
		}
	}
}

// TestB1_AWrittenEndpointIsTaken: some issuers make tokens at another host.
func TestB1_AWrittenEndpointIsTaken(t *testing.T) {
	t.Parallel()
	i, th := newIssuing(t), newThief(t)
	i.metadata["token_endpoint"] = th.URL + "/token"
	c := newClient(t, i, func(s *upstream.Server) {
		credentials["client_secret_secret"](s)
		s.OAuth.TokenEndpoint = th.URL + "/token"
	})
	c.policy.Allow = append(c.policy.Allow, host(th.URL))
	c.discover()
	th.mu.Lock()
	defer th.mu.Unlock()
	if len(th.got) == 0 || !strings.HasPrefix(th.got[0], "/token Basic ") {
		t.Errorf("the written endpoint was sent %q", th.got)
	}
}

// TestB1_AProviderIsSteeredNoBetter: the identity provider's metadata names
// another address.
func TestB1_AProviderIsSteeredNoBetter(t *testing.T) {
	t.Parallel()
	i, th := newIssuing(t), newThief(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		write(w, 200, map[string]any{"issuer": "http://" + r.Host, "token_endpoint": th.URL + "/token"})
	}))
	defer other.Close()
	c := newClient(t, i, func(s *upstream.Server) {
		s.OAuth.Grant, s.OAuth.Assertion = oauth.JWTBearer, "far/secret"
		s.OAuth.Provider = &oauth.Provider{Issuer: other.URL, ClientID: "us-there", ClientSecret: "far/secret"}
		s.Capabilities.Network.AllowedHosts = append(s.Capabilities.Network.AllowedHosts, host(th.URL))
	})
	c.policy.Allow = append(c.policy.Allow, host(other.URL), host(th.URL))
	wants(t, "an endpoint elsewhere", c.discover().Error, "which is elsewhere")
	th.check(t)
}
