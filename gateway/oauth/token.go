package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// The ways in which a client says who it is at a token endpoint.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodKey   = "private_key_jwt"
)

// assertionTime is how long a client's assertion is good: for one request.
const assertionTime = time.Minute

// chooseAuthMethod returns how a client proves who it is, of the methods that
// the issuer accepts.
func (a *Authority) chooseAuthMethod(supported []string, secret bool) string {
	switch {
	case a.PrivateKey != "":
		return methodKey
	case !secret:
		return methodNone
	default:
		return chooseSecretMethod(supported)
	}
}

// chooseSecretMethod is how a client with a secret says who it is.
func chooseSecretMethod(supported []string) string {
	if len(supported) == 0 || slices.Contains(supported, methodBasic) || !slices.Contains(supported, methodPost) {
		return methodBasic
	}
	return methodPost
}

// grantRefusal is the answer of an issuer that refuses, by its code (RFC 6749,
// section 5.2). Its description is not kept: it may quote what was sent.
type grantRefusal struct{ code string }

func (r *grantRefusal) Error() string { return "its issuer refuses: " + r.code }

// errorCode is the form of the codes.
var errorCode = text.Pattern(`^[a-z_]{1,40}$`)

// requestTokens asks the issuer of t for tokens and stores them in t.
func (a *Authority) requestTokens(ctx context.Context, c *sallyport.Call, t *tokens, form url.Values) error {
	d, err := a.postWithNonce(ctx, c, t, form)
	if err != nil {
		return err
	}
	return a.storeTokens(ctx, c, t, d)
}

// postWithNonce sends a request to the token endpoint of t, for its resource; once more when
// the endpoint wants its nonce in the proof.
func (a *Authority) postWithNonce(ctx context.Context, c *sallyport.Call, t *tokens, form url.Values) (*jsonDocument, error) {
	before := a.nonceFor(t.Endpoint)
	d, err := a.postForm(ctx, c, t, form)
	if r, ok := errors.AsType[*grantRefusal](err); ok && r.code == wantsNonce && a.nonceFor(t.Endpoint) != before {
		return a.postForm(ctx, c, t, form)
	}
	return d, err
}

func (a *Authority) postForm(ctx context.Context, c *sallyport.Call, t *tokens, form url.Values) (*jsonDocument, error) {
	form.Set("resource", t.Resource)
	header := http.Header{}
	if len(t.Key) > 0 {
		if err := a.addProof(header, t.Key, http.MethodPost, t.Endpoint, ""); err != nil {
			return nil, err
		}
	}
	resp, err := a.sendForm(ctx, c, t, t.Endpoint, header, form)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a.rememberNonce(t.Endpoint, resp)
	if resp.StatusCode != http.StatusOK {
		return nil, refusalOf(resp, "a request for a token")
	}
	d, err := readDocument(resp)
	if err != nil {
		return nil, fmt.Errorf("its issuer's token: %w", err)
	}
	return d, nil
}

// sendForm sends a form, with who the client is, to an endpoint of t's issuer. What is
// sent is for one address: a redirect is an answer like any other.
func (a *Authority) sendForm(ctx context.Context, c *sallyport.Call, t *tokens, at string, header http.Header, form url.Values) (*http.Response, error) {
	if err := a.addClientAuth(ctx, c, t, at, header, form); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("%s is no address", clipQuote(at))
	}
	r.Header = header
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	return newClient(c, 0).Do(r)
}

// refusalOf returns the error of an issuer's answer that is not 200.
func refusalOf(resp *http.Response, what string) error {
	if d, err := readDocument(resp); err == nil {
		if code := d.stringField("error"); errorCode().MatchString(code) {
			return &grantRefusal{code}
		}
	}
	return fmt.Errorf("its issuer answered %d to %s", resp.StatusCode, what)
}

func (a *Authority) storeTokens(ctx context.Context, c *sallyport.Call, t *tokens, d *jsonDocument) error {
	access, refresh, kind := d.stringField("access_token"), d.stringField("refresh_token"), d.stringField("token_type")
	scopes := strings.Fields(d.stringField("scope"))
	bound := len(t.Key) > 0 && strings.EqualFold(kind, "DPoP")
	switch {
	case d.err != nil:
		return errors.New("its issuer's token is not well formed")
	case !bound && !strings.EqualFold(kind, "Bearer"):
		return errors.New("its issuer makes tokens of another type than Bearer")
	case !isHeaderSafe(access), refresh != "" && !isHeaderSafe(refresh):
		return errors.New("its issuer's token is not one that a header holds")
	case checkScopes(scopes) != nil:
		scopes = nil
	}
	for kind, value := range map[string]string{"access": access, "refresh": refresh} {
		if err := a.vault.giveToken(ctx, c, a.Name, kind, value); err != nil {
			return err
		}
	}
	t.Access, t.Bound, t.Expires = access, bound, time.Time{}
	if refresh != "" {
		t.Refresh = refresh
	}
	if len(scopes) > 0 {
		t.Scopes = scopes
	}
	if n := d.secondsField("expires_in"); n > 0 {
		t.Expires = a.now().Add(time.Duration(n) * time.Second)
	}
	return nil
}

// isHeaderSafe reports whether a text can stand in a header.
func isHeaderSafe(s string) bool {
	return s != "" && len(s) <= maxToken && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// addClientAuth adds who the client is to a request to an endpoint of t's issuer.
func (a *Authority) addClientAuth(ctx context.Context, c *sallyport.Call, t *tokens, at string, h http.Header, form url.Values) error {
	if err := a.allowCredential(t.Issuer, at); err != nil {
		return err
	}
	secret := t.ClientSecret
	if a.ClientSecret != "" && secret == "" && t.ClientID == a.ClientID {
		s, err := c.Secrets.Get(ctx, a.ClientSecret)
		if err != nil {
			return err
		}
		secret = s.Reveal()
	}
	switch t.Method {
	case methodBasic:
		pair := url.QueryEscape(t.ClientID) + ":" + url.QueryEscape(secret)
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	case methodPost:
		form.Set("client_id", t.ClientID)
		form.Set("client_secret", secret)
	case methodKey:
		return a.addAssertion(ctx, c, t, form)
	default:
		form.Set("client_id", t.ClientID)
	}
	return nil
}

// addAssertion adds a signed statement of who the client is (RFC 7523).
func (a *Authority) addAssertion(ctx context.Context, c *sallyport.Call, t *tokens, form url.Values) error {
	secret, err := c.Secrets.Get(ctx, a.PrivateKey)
	if err != nil {
		return err
	}
	key, algorithm, err := parseSigningKey(secret.Reveal(), t.Algorithms)
	if err != nil {
		return fmt.Errorf("the secret %s: %w", a.PrivateKey, err)
	}
	now := a.now()
	text, err := signClaims(algorithm, key, (&jose.SignerOptions{}).WithType("JWT"), map[string]any{
		"iss": t.ClientID, "sub": t.ClientID, "aud": t.Issuer, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(assertionTime).Unix(),
	})
	if err != nil {
		return fmt.Errorf("the secret %s is no key to sign with", a.PrivateKey)
	}
	form.Set("client_id", t.ClientID)
	form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	form.Set("client_assertion", text)
	return nil
}

// parseSigningKey reads a private key in PEM and chooses the signature for it, of
// what the issuer takes.
func parseSigningKey(text string, taken []string) (crypto.Signer, jose.SignatureAlgorithm, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, "", errors.New("expected a private key in PEM")
	}
	key, err := parseKey(block)
	if err != nil {
		return nil, "", err
	}
	var can []jose.SignatureAlgorithm
	switch k := key.(type) {
	case *rsa.PrivateKey:
		can = []jose.SignatureAlgorithm{jose.RS256, jose.PS256}
	case *ecdsa.PrivateKey:
		can = []jose.SignatureAlgorithm{map[int]jose.SignatureAlgorithm{256: jose.ES256, 384: jose.ES384, 521: jose.ES512}[k.Curve.Params().BitSize]}
	case ed25519.PrivateKey:
		can = []jose.SignatureAlgorithm{jose.EdDSA}
	default:
		return nil, "", errors.New("expected a private key of RSA, ECDSA or Ed25519")
	}
	for _, algorithm := range can {
		if slices.Contains(taken, string(algorithm)) {
			return key, algorithm, nil
		}
	}
	return key, can[0], nil
}

// parseKey reads the three forms in which private keys are kept.
func parseKey(block *pem.Block) (crypto.Signer, error) {
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, errors.New("expected a private key in PEM")
	}
	return signer, nil
}
