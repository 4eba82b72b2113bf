package upstream_test

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// proofClaims are the claims of a proof.
type proofClaims struct {
	Method string `json:"htm"`
	URL    string `json:"htu"`
	Hash   string `json:"ath"`
	ID     string `json:"jti"`
	Nonce  string `json:"nonce"`
	Time   int64  `json:"iat"`
}

// proven checks a proof with the key in it, and returns that key.
func proven(t *testing.T, proof, token string) (c proofClaims, key string) {
	t.Helper()
	signed, err := jose.ParseSigned(proof, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatalf("the proof %q: %v", proof, err)
	}
	h := signed.Signatures[0].Header
	if h.JSONWebKey == nil || !h.JSONWebKey.IsPublic() || h.ExtraHeaders["typ"] != "dpop+jwt" {
		t.Fatalf("the proof has the header %+v, want its public key and type", h)
	}
	text, err := signed.Verify(h.JSONWebKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(token))
	if want := base64.RawURLEncoding.EncodeToString(sum[:]); token != "" && c.Hash != want || token == "" && c.Hash != "" {
		t.Errorf("the proof is for another token than %q", token)
	}
	thumb, err := h.JSONWebKey.Thumbprint(crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return c, string(thumb)
}

// TestABoundTokenIsProven: the issuer binds tokens to a key. Each request
// carries its own proof, with the nonce that the server requires.
func TestABoundTokenIsProven(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	i.metadata["dpop_signing_alg_values_supported"] = []string{"RS256", "ES256"}
	i.token = map[string]any{"token_type": "DPoP"}
	i.nonce = "nonce-of-the-server"
	refused := 0
	i.at["/token"] = func(w http.ResponseWriter, r *http.Request) {
		if refused == 0 {
			refused++
			w.Header().Set("DPoP-Nonce", "nonce-of-the-issuer")
			write(w, 400, map[string]any{"error": "use_dpop_nonce"})
			return
		}
		i.serveToken(w, r)
	}
	c := newClient(t, i, nil)
	if res := c.login("local"); !res.OK {
		t.Fatalf("login: %s", res.Error)
	}
	// The key is kept across starts of the program, and the token is renewed
	// with it.
	c.open()
	c.discover()
	i.do(func() { clear(i.good) })
	if res := c.echo("local", "hello"); !res.OK {
		t.Fatalf("echo: %s", res.Error)
	}
	var keys []string
	for _, q := range i.requests {
		claims, key := proven(t, q.Get("dpop"), "")
		if keys = append(keys, key); claims.Method != "POST" || claims.URL != i.issuer.URL+"/token" {
			t.Errorf("the proof for a token is %+v", claims)
		}
	}
	if len(i.requests) != 2 || i.requests[1].Get("grant_type") != "refresh_token" {
		t.Errorf("requests for tokens = %v, want the login's and a renewal", i.requests)
	}
	if claims, _ := proven(t, i.requests[0].Get("dpop"), ""); claims.Nonce != "nonce-of-the-issuer" {
		t.Errorf("the second proof has the nonce %q", claims.Nonce)
	}
	seen := map[string]bool{}
	for _, h := range i.headers {
		token, bound := strings.CutPrefix(h.Get("Authorization"), "DPoP ")
		claims, key := proven(t, h.Get("DPoP"), token)
		keys = append(keys, key)
		if !bound || claims.Method != "POST" || claims.URL != i.resource.URL+"/mcp" || seen[claims.ID] || claims.Time == 0 || claims.Nonce != i.nonce {
			t.Errorf("the proof for the server is %+v, seen before: %t", claims, seen[claims.ID])
		}
		seen[claims.ID] = true
	}
	for _, key := range keys[1:] {
		if key != keys[0] {
			t.Error("one login has two keys")
		}
	}
	if len(i.headers) < 3 {
		t.Errorf("%d requests reached the server, want some", len(i.headers))
	}
}

// TestAnIssuerThatBindsNoTokens may still answer with a bearer token.
func TestAnIssuerThatBindsNoTokens(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	i.metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
	c := newClient(t, i, nil)
	if res := c.login("local"); !res.OK {
		t.Fatalf("login: %s", res.Error)
	}
	c.discover()
	wants(t, "echo", inside(c.echo("local", "hello")), "hello Bearer [REDACTED:secret]")
	// A token that is bound to a key is useless without that key.
	i = newIssuing(t)
	i.token = map[string]any{"token_type": "DPoP"}
	wants(t, "bound to nothing", newClient(t, i, nil).login("local").Error, "another type than Bearer")
}
