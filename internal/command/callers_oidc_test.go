package command

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// provider is an OpenID provider on the loopback interface.
type provider struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "one", Use: "sig", Algorithm: "ES256"}}})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// token returns a token for a subject with permissions.
func (p *provider) token(t *testing.T, subject, permissions string) string {
	t.Helper()
	return p.claim(t, map[string]any{"aud": "sallyport", "sub": subject, "scope": permissions})
}

// sign returns a token with these claims.
func (p *provider) sign(t *testing.T, claims []byte) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: p.key}, (&jose.SignerOptions{}).WithHeader("kid", "one"))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// issuedText returns a configuration that trusts a provider.
func issuedText(p *provider, defaults, roles string) string {
	return `version: 1
state: sqlite:.sallyport/state.db
personalities:
  reader: {toolset: [read_file, look], fs_reach: {read: ["${workspace}"]}}
  other: {toolset: []}
security:
  default_permissions: [` + defaults + `]
  oidc: {issuer: "` + p.URL + `", audience: sallyport, permissions_claim: scope, personalities: [` + roles + `]}
principals:
  local: {permissions: ["file:read"]}
  boss: {permissions: ["file:read"], personalities: [reader]}
actions:
  - {id: look, permissions: ["file:read"], parameters: {}, handler: {http: {url: "http://127.0.0.1:9/"}}}
`
}

// TestCallersOfAnIssuerFollowTheConfiguration changes the default permissions
// and the roles that callers of the issuer may take.
func TestCallersOfAnIssuerFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	dir := configured(t, issuedText(p, "", "reader"))
	s := serveWatched(t, dir, "--personality", "reader")
	token := p.token(t, "alice", "")
	s.wants(t, token, "look", `{}`, 403)
	s.change(t, dir, issuedText(p, `"file:read"`, "reader"), inForce)
	s.wants(t, token, "look", `{}`, 502) // the call runs, and its upstream does not answer
	s.change(t, dir, issuedText(p, `"file:read"`, "other"), inForce)
	s.wants(t, token, "look", `{}`, 404)
	s.change(t, dir, issuedText(p, `"file:read"`, ""), inForce)
	s.wants(t, token, "look", `{}`, 404)
	s.change(t, dir, issuedText(p, "", "reader"), inForce)
	s.wants(t, token, "look", `{}`, 403)
	s.wants(t, p.token(t, "alice", "file:read"), "look", `{}`, 502)
	// The identity of the issuer stays as it was at the start.
	s.change(t, dir, strings.Replace(issuedText(p, "", "reader"), "audience: sallyport", "audience: other", 1), rejected)
	// An operator can remove a compromised issuer at once, and can add it again
	// with a restart.
	lines := strings.Split(issuedText(p, "", "reader"), "\n")
	without := slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "oidc:") })
	s.change(t, dir, strings.Join(without, "\n"), inForce)
	s.wants(t, token, "look", `{}`, 401)
	s.change(t, dir, issuedText(p, "", "reader"), rejected)
	s.wants(t, token, "look", `{}`, 401)
	s.stop(t)
}

// TestASubjectTakesNobodysName uses subjects with the name of the local user,
// the name of a principal of the configuration, and a name with the prefix of
// issuers.
func TestASubjectTakesNobodysName(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	dir := configured(t, issuedText(p, "", "reader"))
	s := serveWatched(t, dir, "--personality", "reader")
	for _, subject := range []string{"local", "boss", "oidc:boss"} {
		s.wants(t, p.token(t, subject, ""), "look", `{}`, 403)
	}
	s.stop(t)
	var got []string
	for _, r := range records(t, dir) {
		got = append(got, r.Principal)
	}
	if want := "oidc:local oidc:boss oidc:oidc:boss"; strings.Join(got, " ") != want {
		t.Errorf("recorded principals = %v, want %s", got, want)
	}
}
