package auth_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sallyport/sallyport/auth"
)

// issuer is a real OpenID Connect issuer over TLS.
type issuer struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	now     time.Time
	keys    []jose.JSONWebKey
	fetches int
	down    bool
	answer  func(w http.ResponseWriter) // in place of the key set
	claimed string                      // the issuer that discovery names
	keysAt  string                      // where discovery says that the keys are
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": or(i.claimed, i.URL), "jwks_uri": or(i.keysAt, i.URL+"/keys"),
			// An issuer that also offers what must never be accepted.
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		})
	})
	mux.HandleFunc("/keys", i.serveKeys)
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fetches++
	if i.down {
		http.Error(w, "down", http.StatusInternalServerError)
		return
	}
	if i.answer != nil {
		i.answer(w)
		return
	}
	_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: i.keys})
}

// do changes the issuer.
func (i *issuer) do(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuer) clock() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// publish adds the public half of a key.
func (i *issuer) publish(kid string, private crypto.Signer, alg jose.SignatureAlgorithm) {
	i.do(func() {
		i.keys = append(i.keys, jose.JSONWebKey{Key: private.Public(), KeyID: kid, Use: "sig", Algorithm: string(alg)})
	})
}

func (i *issuer) believer(change func(*auth.OIDCOptions)) (*auth.OIDC, error) {
	o := auth.OIDCOptions{
		Issuer: i.URL, Audience: "sallyport", PermissionsClaim: "permissions",
		DefaultPermissions: func() []string { return []string{"base"} }, Personalities: func() []string { return []string{"reader"} },
		HTTPClient: i.Client(), Now: i.clock,
	}
	if change != nil {
		change(&o)
	}
	return auth.NewOIDC(i.t.Context(), o)
}

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, kid string, key any, payload string) string {
	t.Helper()
	o := &jose.SignerOptions{}
	if kid != "" {
		o.WithHeader("kid", kid)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := s.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	text, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// payload is the claims of a good token with changes; nil removes one.
func (i *issuer) payload(changes map[string]any) string {
	now := i.clock()
	c := map[string]any{
		"iss": i.URL, "aud": "sallyport", "sub": "alice", "permissions": []string{"file:read"},
		"exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "nbf": now.Unix(),
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(c)
	if err != nil {
		i.t.Fatal(err)
	}
	return string(text)
}
