package upstream_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/oauth"
)

// logout removes the tokens of a principal and asks the issuer to revoke them.
func (c *client) logout(principal string) (told bool, res sallyport.Result) {
	c.t.Helper()
	vault, err := oauth.NewVault(c.kept, []byte(strings.Repeat("k", 32)))
	if err != nil {
		c.t.Fatal(err)
	}
	of := *c.server.OAuth
	of.Name, of.URL = c.server.Name, c.server.URL
	was, err := vault.Forget(c.t.Context(), &of, principal)
	if err != nil || !was.LoggedIn {
		c.t.Fatalf("Forget() = %v, %v, want a principal who was logged in", was.LoggedIn, err)
	}
	tool, err := c.mounts.Logout("far", was, func(t bool) { told = t })
	if err != nil {
		c.t.Fatal(err)
	}
	r := c.registry()
	if err := r.Register(tool); err != nil {
		c.t.Fatal(err)
	}
	return told, c.run(r, "local", tool.Name, object{})
}

// TestALogoutRevokesAtTheIssuer if the issuer supports revocation. The local
// tokens are removed whatever the issuer answers.
func TestALogoutRevokesAtTheIssuer(t *testing.T) {
	t.Parallel()
	answers := func(refresh, access int, code string) func(q url.Values, w http.ResponseWriter) {
		return func(q url.Values, w http.ResponseWriter) {
			status := access
			if q.Get("token_type_hint") == "refresh_token" {
				status = refresh
			}
			write(w, status, map[string]any{"error": code, "error_description": "no good: " + q.Get("token")})
		}
	}
	tests := []struct {
		name   string
		answer func(q url.Values, w http.ResponseWriter)
		at     func(i *issuing) any // the endpoint in the metadata
		told   bool
		asked  int
		fails  string
	}{
		{name: "it takes them", answer: answers(200, 200, ""), told: true, asked: 2},
		{name: "it revokes refresh tokens alone", answer: answers(200, 400, "unsupported_token_type"), told: true, asked: 2},
		{name: "it has no time", answer: answers(503, 503, ""), asked: 1, fails: "its issuer answered 503 to a revocation"},
		{name: "it refuses the client", answer: answers(400, 400, "invalid_client"), asked: 1, fails: "its issuer refuses: invalid_client"},
		{name: "it sends us elsewhere", answer: func(_ url.Values, w http.ResponseWriter) {
			w.Header().Set("Location", "/token")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, asked: 1, fails: "its issuer answered 307 to a revocation"},
		{name: "it takes none", at: func(*issuing) any { return nil }},
		{name: "its endpoint is outside of the grant", at: func(*issuing) any { return "https://evil.example/revoke" }, fails: "evil.example"},
		{name: "its endpoint is no place for a secret", at: func(*issuing) any { return "http://evil.example/revoke" }, fails: "revocation_endpoint"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			i := newIssuing(t)
			c := newClient(t, i, nil)
			if res := c.login("ann"); !res.OK {
				t.Fatal(res.Error)
			}
			var asked []url.Values
			i.do(func() {
				i.metadata["revocation_endpoint"] = i.issuer.URL + "/revoke"
				if tt.at != nil {
					i.metadata["revocation_endpoint"] = tt.at(i)
				}
				i.at["/revoke"] = func(w http.ResponseWriter, r *http.Request) {
					_ = r.ParseForm()
					i.do(func() { asked = append(asked, r.PostForm) })
					tt.answer(r.PostForm, w)
				}
			})
			told, res := c.logout("ann")
			if told != tt.told || res.OK != (tt.fails == "") || !strings.Contains(res.Error, tt.fails) || len(asked) != tt.asked {
				t.Errorf("told %v, asked %d times, %+v; want %v, %d, %q", told, len(asked), res, tt.told, tt.asked, tt.fails)
			}
			for n, hint := range []string{"refresh_token", "access_token"}[:len(asked)] {
				q := asked[n]
				if q.Get("token_type_hint") != hint || !strings.HasPrefix(q.Get("token"), strings.Replace(hint, "_", "-", 1)+"-number-") || q.Get("client_id") != "sallyport-here" {
					t.Errorf("request %d = %v, want the %s of this client", n, q, hint)
				}
			}
			wants(t, "afterwards", c.echoAfterStart("ann"), "wants a login of ann")
		})
	}
}

// echoAfterStart returns the error of a call after a new start.
func (c *client) echoAfterStart(principal string) string {
	c.open()
	c.login("local")
	c.discover()
	return c.echo(principal, "x").Error
}
