package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// proofAlgorithm is the signature of proofs: every issuer that takes proofs must
// know it.
const proofAlgorithm = string(jose.ES256)

// wantsNonce is the code with which a proof is refused for want of a nonce.
const wantsNonce = "use_dpop_nonce"

// tokenWithKey is what a request to the server carries: an access token, and
// the key to which it is bound, nil for a token that every holder may use.
type tokenWithKey struct {
	token string
	key   []byte
}

// withKey returns the access token of t with the key to which it is bound.
func (t *tokens) withKey() tokenWithKey {
	if !t.Bound {
		return tokenWithKey{token: t.Access}
	}
	return tokenWithKey{t.Access, t.Key}
}

// newProofKey makes a key for tokens of an issuer that binds them; nil for any other.
func newProofKey(i *issuerMetadata) ([]byte, error) {
	if !slices.Contains(i.proofs, proofAlgorithm) {
		return nil, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return x509.MarshalPKCS8PrivateKey(key)
}

// addProof puts a proof into the header of a request: that its sender holds the key
// to which the token is bound (RFC 9449). It is for this one request.
func (a *Authority) addProof(h http.Header, key []byte, method, address, token string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return errors.New("oauth: the key of a token is damaged")
	}
	claims := map[string]any{
		"jti": rand.Text(), "iat": a.now().Unix(), "htm": method, "htu": originOf(address) + u.EscapedPath(),
	}
	if token != "" {
		digest := sha256.Sum256([]byte(token))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(digest[:])
	}
	if nonce := a.nonceFor(address); nonce != "" {
		claims["nonce"] = nonce
	}
	proof, err := signClaims(jose.ES256, parsed, (&jose.SignerOptions{EmbedJWK: true}).WithType("dpop+jwt"), claims)
	if err != nil {
		return err
	}
	h.Set("DPoP", proof)
	return nil
}

// signClaims returns a JWT in its compact form.
func signClaims(algorithm jose.SignatureAlgorithm, key any, o *jose.SignerOptions, claims map[string]any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, o)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(text)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// nonceFor returns the newest that the host of an address gave; empty when it
// gave none.
func (a *Authority) nonceFor(address string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nonces[originOf(address)]
}

// rememberNonce remembers the nonce of an answer and reports whether it is another one.
func (a *Authority) rememberNonce(address string, resp *http.Response) bool {
	nonce := resp.Header.Get("DPoP-Nonce")
	if !isHeaderSafe(nonce) || len(nonce) > maxURL {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	fresh := a.nonces[originOf(address)] != nonce
	// The server and its issuer are two hosts; more are none of ours.
	if len(a.nonces) > 8 {
		clear(a.nonces)
	}
	a.nonces[originOf(address)] = nonce
	return fresh
}
