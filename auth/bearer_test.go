package auth

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzBearer: what is taken for a token is one word of the header, in the
// alphabet of tokens, bounded, and survives being sent again.
func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer abc", "bearer  abc  ", "Basic abc", "Bearer", "Bearer ", "Bearer a b", "Bearer a=b", "Bearer a==", "Bearer\tabc", "Bearer \u00e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, ok := bearerToken([]string{header})
		if !ok {
			return
		}
		if token == "" || len(token) > maxBearerBytes || !strings.Contains(header, token) || strings.ContainsAny(token, " \t\r\n,;\"\x00") || !utf8.ValidString(token) {
			t.Errorf("bearer(%q) = %q", header, token)
		}
		if again, ok := bearerToken([]string{"Bearer " + token}); !ok || again != token {
			t.Errorf("bearer(%q) again = %q, %v", token, again, ok)
		}
		if _, ok := bearerToken([]string{header, header}); ok {
			t.Error("two headers were taken for one")
		}
	})
}

// FuzzToken: only the token itself is known to a directory, and only its own
// principal comes back.
func FuzzToken(f *testing.F) {
	const secret = "0123456789abcdef0123456789abcdef"
	d, err := NewDirectory(context.Background(), []Record{{Name: "a", TokenSHA256: HashToken(secret)}}, nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(secret)
	f.Add(HashToken(secret))
	f.Add(secret + "\x00")
	f.Add(strings.ToUpper(secret))
	f.Fuzz(func(t *testing.T, token string) {
		p, ok, err := d.Principal(t.Context(), token)
		if err != nil || ok != (token == secret) || (p.Name == "a") != ok {
			t.Errorf("Principal(%q) = %+v, %v, %v", token, p, ok, err)
		}
	})
}

// FuzzClaims: whatever an issuer signs, a name is never one that a
// configuration may have, and permissions keep to their bounds.
func FuzzClaims(f *testing.F) {
	for _, seed := range []string{`{"sub":"a","p":["x"]}`, `{"sub":"a","p":"x y"}`, `{"sub":"a","sub":"b"}`, `{"p":{"p":1}}`, `[]`, `{"exp":1e9}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		c, err := readClaims(payload)
		if err != nil {
			return
		}
		if name, err := c.readName("sub"); err == nil && checkName(OIDCPrefix+name) == nil {
			t.Errorf("the issuer named %q", name)
		}
		held, err := c.readPermissions("p")
		if err == nil && len(held) > maxListed {
			t.Errorf("%d permissions", len(held))
		}
		for _, key := range []string{"exp", "nbf"} {
			if at, ok, err := c.readTime(key); err == nil && ok && (at.Year() < 1970 || at.Year() > 10000) {
				t.Errorf("moment(%s) = %v", key, at)
			}
		}
	})
}

// FuzzKeys: no text makes a key set that may verify with a key that is not
// public and asymmetric.
func FuzzKeys(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := parseKeys(text)
		for i := range set {
			if err != nil || !set[i].IsPublic() || !isUsableKey(&set[i]) {
				t.Errorf("parseKeys() kept %+v, %v", set[i], err)
			}
		}
	})
}

func TestNoTokenIsPassedOn(t *testing.T) {
	// The alphabet has no character that could end a header or a log line.
	for c := range 256 {
		s := string([]byte{byte(c)})
		if tokenText(s) && strings.ContainsAny(s, "\r\n\x00\x7f\"'<>") {
			t.Errorf("tokenText(%s) = true", hex.EncodeToString([]byte(s)))
		}
	}
}

var (
	_ Tokens = (*Directory)(nil)
	_ Tokens = (*OIDC)(nil)
)
