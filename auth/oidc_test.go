package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

func TestOIDCJudgesClaims(t *testing.T) {
	i, key := newIssuer(t), rsaKey(t, 2048)
	i.publish("k1", key, jose.RS256)
	o, err := i.believer(nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) int64 { return i.clock().Add(d).Unix() }
	alice := func(permissions ...string) *sallyport.Principal {
		return &sallyport.Principal{Name: "oidc:alice", Permissions: append([]string{"base"}, permissions...), Personalities: []string{"reader"}}
	}
	tests := []struct {
		name    string
		changes map[string]any
		want    *sallyport.Principal
	}{
		{"good", nil, alice("file:read")},
		{"audiences", map[string]any{"aud": []string{"other", "sallyport"}}, alice("file:read")},
		{"permissions as text", map[string]any{"permissions": " http:read  file:read base "}, alice("http:read", "file:read")},
		{"no permissions", map[string]any{"permissions": nil}, alice()},
		{"expired within the leeway", map[string]any{"exp": at(-29 * time.Second)}, alice("file:read")},
		{"nbf within the leeway", map[string]any{"nbf": at(29 * time.Second)}, alice("file:read")},
		{"expired", map[string]any{"exp": at(-31 * time.Second)}, nil},
		{"no expiry", map[string]any{"exp": nil}, nil},
		{"expiry as text", map[string]any{"exp": "4102444800"}, nil},
		{"expiry beyond time", map[string]any{"exp": 1e300}, nil},
		{"not yet", map[string]any{"nbf": at(31 * time.Second)}, nil},
		{"issued in the future", map[string]any{"iat": at(time.Hour)}, nil},
		{"other issuer", map[string]any{"iss": "https://evil.example"}, nil},
		{"issuer with a slash", map[string]any{"iss": i.URL + "/"}, nil},
		{"no issuer", map[string]any{"iss": nil}, nil},
		{"other audience", map[string]any{"aud": "sallyport2"}, nil},
		{"no audience", map[string]any{"aud": nil}, nil},
		{"audience in other case", map[string]any{"aud": "Sallyport"}, nil},
		{"no subject", map[string]any{"sub": nil}, nil},
		{"empty subject", map[string]any{"sub": ""}, nil},
		{"subject is a number", map[string]any{"sub": 7}, nil},
		{"subject with a line break", map[string]any{"sub": "alice\nroot"}, nil},
		{"subject with an invisible character", map[string]any{"sub": "alice\u200b"}, nil},
		{"subject too long", map[string]any{"sub": strings.Repeat("a", 256)}, nil},
		{"permissions as an object", map[string]any{"permissions": map[string]any{"a": true}}, nil},
		{"permissions with a number", map[string]any{"permissions": []any{"a", 1}}, nil},
		{"permission with a space", map[string]any{"permissions": []any{"a b"}}, nil},
		{"too large", map[string]any{"x": strings.Repeat("x", 16<<10)}, nil},
		{"too deep", map[string]any{"x": json.RawMessage(strings.Repeat("[", 20) + strings.Repeat("]", 20))}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, ok, err := o.Principal(t.Context(), sign(t, jose.RS256, "k1", key, i.payload(tt.changes)))
			if err != nil || ok != (tt.want != nil) {
				t.Fatalf("Principal() = %+v, %v, %v, want %+v", p, ok, err, tt.want)
			}
			want := sallyport.Principal{}
			if tt.want != nil {
				want = *tt.want
			}
			if diff := cmp.Diff(want, p); diff != "" {
				t.Errorf("Principal(), difference (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOIDCRefusesForgedTokens(t *testing.T) {
	i, key := newIssuer(t), rsaKey(t, 2048)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	weak := rsaKey(t, 1024)
	i.publish("k1", key, jose.RS256)
	i.publish("free", key, "")
	i.publish("ec", curve, jose.ES256)
	i.publish("weak", weak, jose.RS256)
	o, err := i.believer(nil)
	if err != nil {
		t.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki})
	good := i.payload(nil)
	token := sign(t, jose.RS256, "k1", key, good)
	parts := strings.Split(token, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	duplicate := func(extra string) string { return strings.TrimSuffix(good, "}") + "," + extra + "}" }
	stranger, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: rsaKey(t, 2048)}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	embedded, err := stranger.Sign([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	ownKey, err := embedded.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		token string
		ok    bool
	}{
		"good":                           {token, true},
		"good with a curve":              {sign(t, jose.ES256, "ec", curve, good), true},
		"key without an algorithm":       {sign(t, jose.RS256, "free", key, good), true},
		"algorithm that is not pinned":   {sign(t, jose.RS512, "free", key, good), false},
		"algorithm of another key":       {sign(t, jose.PS256, "k1", key, good), false},
		"public key as a shared secret":  {sign(t, jose.HS256, "k1", public, good), false},
		"none":                           {b64([]byte(`{"alg":"none","kid":"k1"}`)) + "." + parts[1] + ".", false},
		"none with a signature":          {b64([]byte(`{"alg":"none","kid":"k1"}`)) + "." + parts[1] + "." + parts[2], false},
		"no signature":                   {parts[0] + "." + parts[1] + ".", false},
		"other payload":                  {parts[0] + "." + b64([]byte(i.payload(map[string]any{"sub": "root"}))) + "." + parts[2], false},
		"other key of the same name":     {sign(t, jose.RS256, "k1", rsaKey(t, 2048), good), false},
		"key in the header":              {ownKey, false},
		"weak key":                       {sign(t, jose.RS256, "weak", weak, good), false},
		"no key named among several":     {sign(t, jose.RS256, "", key, good), false},
		"header with a key twice":        {b64([]byte(`{"alg":"RS256","kid":"k1","kid":"k1"}`)) + "." + parts[1] + "." + parts[2], false},
		"unknown critical header":        {b64([]byte(`{"alg":"RS256","kid":"k1","crit":["x"],"x":1}`)) + "." + parts[1] + "." + parts[2], false},
		"subject twice":                  {sign(t, jose.RS256, "k1", key, duplicate(`"sub":"root"`)), false},
		"subject twice by escape":        {sign(t, jose.RS256, "k1", key, duplicate(`"s\u0075b":"root"`)), false},
		"expiry twice":                   {sign(t, jose.RS256, "k1", key, duplicate(`"exp":4102444800`)), false},
		"expiry in another case only":    {sign(t, jose.RS256, "k1", key, strings.Replace(good, `"exp"`, `"EXP"`, 1)), false},
		"audience in another case":       {sign(t, jose.RS256, "k1", key, strings.Replace(good, `"aud"`, `"AUD"`, 1)), false},
		"payload is no object":           {sign(t, jose.RS256, "k1", key, `["x"]`), false},
		"payload is no JSON":             {sign(t, jose.RS256, "k1", key, `x`), false},
		"JSON serialization":             {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, false},
		"encrypted form":                 {token + ".x.y", false},
		"with a space":                   {token + " ", false},
		"empty":                          {"", false},
		"dots":                           {"..", false},
		"larger than a header should be": {sign(t, jose.RS256, "k1", key, good) + strings.Repeat("A", 17<<10), false},
	} {
		t.Run(name, func(t *testing.T) {
			p, ok, err := o.Principal(t.Context(), tt.token)
			if ok != tt.ok || err != nil || (p.Name != "") != tt.ok {
				t.Errorf("Principal() = %+v, %v, %v, want %v", p, ok, err, tt.ok)
			}
		})
	}
	if n := i.count(); n != 1 {
		t.Errorf("%d fetches of keys, want the one of the start: no token may cause more within the pause", n)
	}
}

func TestOIDCFollowsTheKeysOfTheIssuer(t *testing.T) {
	i, first, second := newIssuer(t), rsaKey(t, 2048), rsaKey(t, 2048)
	i.publish("k1", first, jose.RS256)
	o, err := i.believer(nil)
	if err != nil {
		t.Fatal(err)
	}
	old := sign(t, jose.RS256, "k1", first, i.payload(map[string]any{"exp": i.clock().Add(24 * time.Hour).Unix()}))
	fresh := sign(t, jose.RS256, "k2", second, i.payload(map[string]any{"exp": i.clock().Add(24 * time.Hour).Unix()}))
	pass := func(d time.Duration) { i.do(func() { i.now = i.now.Add(d) }) }
	check := func(what, token string, ok, fails bool, fetches int) {
		t.Helper()
		_, got, err := o.Principal(t.Context(), token)
		if got != ok || (err != nil) != fails || i.count() != fetches {
			t.Errorf("%s: Principal() = %v, %v after %d fetches, want %v, error %v, %d", what, got, err, i.count(), ok, fails, fetches)
		}
	}
	check("known key", old, true, false, 1)
	i.publish("k2", second, jose.RS256)
	pass(9 * time.Second)
	check("new key within the pause", fresh, false, false, 1)
	pass(2 * time.Second)
	check("new key", fresh, true, false, 2)
	check("old key", old, true, false, 2)
	stranger := sign(t, jose.RS256, "k3", rsaKey(t, 2048), i.payload(nil))
	pass(11 * time.Second)
	for range 5 {
		check("unknown key", stranger, false, false, 3)
	}

	// A key that the issuer withdrew ends with the next refresh.
	i.do(func() { i.keys = i.keys[1:] })
	check("withdrawn key before the refresh", old, true, false, 3)
	pass(11 * time.Minute)
	check("withdrawn key", old, false, false, 4)
	check("other key", fresh, true, false, 4)

	// An issuer that does not answer keeps known keys alive for a while, and
	// an unknown key is no fault.
	i.do(func() { i.down = true })
	pass(11 * time.Minute)
	check("known key, no answer", fresh, true, false, 5)
	check("known key, no answer, within the pause", fresh, true, false, 5)
	check("unknown key, no answer", stranger, false, true, 5)
	pass(time.Hour)
	check("known key, no answer for long", fresh, false, true, 6)
	i.do(func() { i.down = false })
	pass(11 * time.Second)
	check("the issuer is back", fresh, true, false, 7)
}

func TestOIDCFetchesOnceForManyCallers(t *testing.T) {
	i, first, second := newIssuer(t), rsaKey(t, 2048), rsaKey(t, 2048)
	i.publish("k1", first, jose.RS256)
	o, err := i.believer(nil)
	if err != nil {
		t.Fatal(err)
	}
	i.publish("k2", second, jose.RS256)
	i.do(func() { i.now = i.now.Add(time.Minute) })
	token := sign(t, jose.RS256, "k2", second, i.payload(nil))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, ok, err := o.Principal(t.Context(), token); !ok || err != nil {
				t.Errorf("Principal() = %v, %v, want true", ok, err)
			}
		})
	}
	wg.Wait()
	if n := i.count(); n != 2 {
		t.Errorf("%d fetches, want 2: one at the start, one for all callers", n)
	}
}

func TestOIDCClaimsThatAnOperatorChooses(t *testing.T) {
	i, key := newIssuer(t), rsaKey(t, 2048)
	i.publish("", key, jose.RS256)
	principal := func(change func(*auth.OIDCOptions), claims map[string]any) (sallyport.Principal, bool) {
		o, err := i.believer(change)
		if err != nil {
			t.Fatal(err)
		}
		p, ok, err := o.Principal(t.Context(), sign(t, jose.RS256, "", key, i.payload(claims)))
		if err != nil {
			t.Fatal(err)
		}
		return p, ok
	}
	email := func(o *auth.OIDCOptions) { o.PrincipalClaim = "email" }
	if p, ok := principal(email, map[string]any{"email": "a@example.com", "email_verified": true}); !ok || p.Name != "oidc:a@example.com" {
		t.Errorf("verified email = %+v, %v, want it as the name", p, ok)
	}
	for _, verified := range []any{nil, false, "true"} {
		if p, ok := principal(email, map[string]any{"email": "a@example.com", "email_verified": verified}); ok {
			t.Errorf("email_verified %v = %+v, want a refusal", verified, p)
		}
	}
	roles := map[string]any{"realm_access": map[string]any{"roles": []string{"x"}}, "https://a.example/roles": []string{"y"}}
	for claim, want := range map[string][]string{
		"realm_access.roles": {"base", "x"}, "https://a.example/roles": {"base", "y"}, "realm_access.none.at.all": {"base"}, "": {"base"},
	} {
		p, ok := principal(func(o *auth.OIDCOptions) { o.PermissionsClaim = claim }, roles)
		if !ok || !slices.Equal(p.Permissions, want) {
			t.Errorf("permissions from %q = %v, %v, want %v", claim, p.Permissions, ok, want)
		}
	}
	p, ok := principal(func(o *auth.OIDCOptions) { o.Personalities = nil }, nil)
	if !ok || p.Personalities != nil {
		t.Errorf("personalities = %#v, want nil: any", p.Personalities)
	}
}

func TestOIDCRefusesToStart(t *testing.T) {
	key := rsaKey(t, 2048)
	for name, change := range map[string]func(*issuer, *auth.OIDCOptions){
		"plain http":            func(_ *issuer, o *auth.OIDCOptions) { o.Issuer = "http://login.example.com" },
		"no url":                func(_ *issuer, o *auth.OIDCOptions) { o.Issuer = "login.example.com" },
		"issuer with userinfo":  func(_ *issuer, o *auth.OIDCOptions) { o.Issuer = "https://a:b@login.example.com" },
		"no audience":           func(_ *issuer, o *auth.OIDCOptions) { o.Audience = "" },
		"none":                  func(_ *issuer, o *auth.OIDCOptions) { o.Algorithms = []string{"none"} },
		"symmetric":             func(_ *issuer, o *auth.OIDCOptions) { o.Algorithms = []string{"RS256", "HS256"} },
		"another issuer":        func(i *issuer, _ *auth.OIDCOptions) { i.claimed = "https://evil.example" },
		"no keys":               func(i *issuer, _ *auth.OIDCOptions) { i.keys = nil },
		"certificate not known": func(_ *issuer, o *auth.OIDCOptions) { o.HTTPClient = nil },
		"keys without end": func(i *issuer, _ *auth.OIDCOptions) {
			i.answer = func(w http.ResponseWriter) {
				_ = json.NewEncoder(w).Encode(map[string]any{"keys": i.keys, "x": strings.Repeat("x", 300<<10)})
			}
		},
		"too many keys": func(i *issuer, _ *auth.OIDCOptions) {
			i.keys = slices.Repeat(i.keys, 101)
		},
		"keys elsewhere": func(i *issuer, _ *auth.OIDCOptions) {
			i.answer = func(w http.ResponseWriter) {
				i.answer = nil
				w.Header().Set("Location", "/keys")
				w.WriteHeader(http.StatusFound)
			}
		},
		"keys over plain http": func(i *issuer, _ *auth.OIDCOptions) {
			plain := httptest.NewServer(http.HandlerFunc(i.serveKeys))
			i.t.Cleanup(plain.Close)
			i.keysAt = plain.URL
		},
		"private keys in public": func(i *issuer, _ *auth.OIDCOptions) { i.keys[0].Key = key },
		"shared secrets in public": func(i *issuer, _ *auth.OIDCOptions) {
			i.keys[0].Key, i.keys[0].Algorithm = []byte(strings.Repeat("s", 32)), "HS256"
		},
		"keys for encryption": func(i *issuer, _ *auth.OIDCOptions) { i.keys[0].Use = "enc" },
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.Config.ErrorLog = nil
			i.publish("k1", key, jose.RS256)
			if _, err := i.believer(func(o *auth.OIDCOptions) { change(i, o) }); err == nil {
				t.Error("NewOIDC() = nil error, want one")
			}
		})
	}
	// The change is the only reason.
	i := newIssuer(t)
	i.publish("k1", key, jose.RS256)
	if _, err := i.believer(nil); err != nil {
		t.Errorf("NewOIDC() = %v, want none", err)
	}
}

func TestOIDCKeepsAKeyToItsAlgorithm(t *testing.T) {
	i, key := newIssuer(t), rsaKey(t, 2048)
	i.publish("k1", key, jose.RS256)
	i.publish("free", key, "")
	o, err := i.believer(func(o *auth.OIDCOptions) { o.Algorithms = []string{"RS256", "PS256"} })
	if err != nil {
		t.Fatal(err)
	}
	for kid, want := range map[string]bool{"free": true, "k1": false} {
		if _, ok, err := o.Principal(t.Context(), sign(t, jose.PS256, kid, key, i.payload(nil))); ok != want || err != nil {
			t.Errorf("PS256 with key %s = %v, %v, want %v", kid, ok, err, want)
		}
	}
}

func TestChainAsksInOrder(t *testing.T) {
	one, oneHash := auth.NewToken()
	two, twoHash := auth.NewToken()
	broken := failing{}
	who := func(hash, name string) auth.Single {
		return auth.Single{Hash: hash, Owner: sallyport.Principal{Name: name}}
	}
	c := auth.Chain(who(oneHash, "one"), broken, who(twoHash, "two"), who(oneHash, "shadow"))
	for token, want := range map[string]string{one: "one", two: "two"} {
		if p, ok, err := c.Principal(t.Context(), token); !ok || err != nil || p.Name != want {
			t.Errorf("Principal(%s) = %+v, %v, %v", want, p, ok, err)
		}
	}
	if _, ok, err := c.Principal(t.Context(), "other"); ok || err == nil {
		t.Errorf("Principal(other) = %v, %v, want the error of who could not say", ok, err)
	}
	if _, ok, err := auth.Chain().Principal(t.Context(), one); ok || err != nil {
		t.Errorf("Chain().Principal() = %v, %v, want none", ok, err)
	}
}

type failing struct{}

func (failing) Principal(context.Context, string) (sallyport.Principal, bool, error) {
	return sallyport.Principal{Name: "root"}, true, fmt.Errorf("driver: password=hunter2")
}
