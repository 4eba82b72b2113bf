package page_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// provider is an OpenID provider on the loopback interface, which holds to the protocol
// unless a test tells it otherwise.
type provider struct {
	*httptest.Server
	t   *testing.T
	key *ecdsa.PrivateKey

	mu     sync.Mutex
	codes  map[string]url.Values // what was asked for, by code, until it is redeemed
	secret string                // what the client proves that it is with; "" for a public one
	claims map[string]any        // over those of a good token; nil leaves one out
	signer *ecdsa.PrivateKey     // in place of key
	answer func(w http.ResponseWriter)
	asks   bool         // the login is a page with a link, as people see one
	asked  []url.Values // the requests of the token endpoint
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{t: t, key: newKey(t), codes: map[string]url.Values{}, claims: map[string]any{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "one", Use: "sig", Algorithm: "ES256"}}})
	})
	mux.HandleFunc("/authorize", p.serveAuthorize)
	mux.HandleFunc("/token", p.serveToken)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// serveAuthorize is the login, at which every person is alice at once.
func (p *provider) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != "page" || q.Get("code_challenge_method") != "S256" ||
		len(q.Get("code_challenge")) != 43 || len(q.Get("nonce")) < 22 || len(q.Get("state")) < 22 || !strings.Contains(" "+q.Get("scope")+" ", " openid ") {
		http.Error(w, "the request is not as OpenID Connect says: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = q
	p.mu.Unlock()
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}
	if p.asks {
		fmt.Fprintf(w, `<!doctype html><title>Login</title><a href="%s">I am alice</a>`, html.EscapeString(q.Get("redirect_uri")+"?"+back.Encode()))
		return
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// serveToken redeems a code, once.
func (p *provider) serveToken(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if p.answer != nil {
		p.answer(w)
		return
	}
	_ = r.ParseForm()
	p.asked = append(p.asked, r.PostForm)
	q, ok := p.codes[r.PostForm.Get("code")]
	delete(p.codes, r.PostForm.Get("code"))
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	id, secret, basic := r.BasicAuth()
	if !basic {
		id = r.PostForm.Get("client_id")
	}
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") || id != "page" || secret != p.secret || r.PostForm.Get("redirect_uri") != q.Get("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": "invalid_grant", "error_description": "secret " + secret})
		return
	}
	now := time.Now()
	claims := map[string]any{
		"iss": p.URL, "aud": "page", "sub": "alice", "nonce": q.Get("nonce"), "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"roles": []string{"page:read", "approvals:decide", "file:read"},
	}
	maps.Copy(claims, p.claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	key := p.key
	if p.signer != nil {
		key = p.signer
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": p.sign(key, claims)})
}

func (p *provider) sign(key *ecdsa.PrivateKey, claims map[string]any) string {
	text, err := json.Marshal(claims)
	if err != nil {
		p.t.Error(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "one"))
	if err != nil {
		p.t.Error(err)
		return ""
	}
	signed, err := signer.Sign(text)
	if err != nil {
		p.t.Error(err)
		return ""
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		p.t.Error(err)
	}
	return token
}

// do changes the provider.
func (p *provider) do(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// issued returns a configuration with this provider; more are further keys of the page.
func (p *provider) issued(more string) string {
	return configuration + `security:
  oidc:
    issuer: "` + p.URL + `"
    audience: sallyport
    permissions_claim: roles
    personalities: [default]
    page: {client_id: page, url: "` + pageURL + `"` + more + `}
`
}

// goTo asks for an address as a browser does that another site leads there, and follows no
// redirect. It returns where the answer leads, too.
func (v *visitor) goTo(address string, header map[string]string) (res *http.Response, body string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), "GET", address, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	for k, value := range header {
		r.Header.Set(k, value)
	}
	c := *v.client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err = c.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	_, body = readAnswer(v.t, res)
	return res, body
}

// led is what a browser says when another site leads its window here.
var led = map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

// atProvider begins a login, and returns the address to which the provider leads back.
func (v *visitor) atProvider() string {
	v.t.Helper()
	res, body := v.goTo(v.url+"/page/oidc", nil)
	if res.StatusCode != 303 {
		v.t.Fatalf("/page/oidc = %d: %s", res.StatusCode, body)
	}
	res, body = v.goTo(res.Header.Get("Location"), nil)
	if res.StatusCode != 302 {
		v.t.Fatalf("the login = %d: %s", res.StatusCode, body)
	}
	return res.Header.Get("Location")
}
