package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of what is fetched from an issuer.
const (
	// fetchTime bounds one document, from the dial to the last byte.
	fetchTime = 10 * time.Second
	// fetchBytes bounds a document. Large issuers publish a few dozen keys of
	// a kilobyte or two.
	fetchBytes = 256 << 10
	// maxKeys bounds the keys of an issuer.
	maxKeys = 100
	// minRSABits is the least that RFC 7518 allows for signatures.
	minRSABits = 2048

	// keysRefresh is how old keys may become before they are fetched again:
	// a key that the issuer withdrew counts no longer than that while the
	// issuer answers.
	keysRefresh = 10 * time.Minute
	// keysEnd is how long keys count while the issuer does not answer.
	keysEnd = time.Hour
	// keysPause is the least time between two fetches, whatever keys tokens
	// name: strangers must not make this server knock at the issuer.
	keysPause = 10 * time.Second
)

// errNoKeys means that keys cannot be fetched, which is not the fault of a
// token.
var errNoKeys = errors.New("the keys of the issuer cannot be fetched")

type keySet struct {
	url        string
	client     *http.Client
	algorithms []jose.SignatureAlgorithm
	now        func() time.Time
	logger     *slog.Logger

	mu      sync.Mutex
	set     []jose.JSONWebKey
	fetched time.Time     // the last fetch that succeeded
	tried   time.Time     // the last fetch
	failed  bool          // the last fetch did
	flight  chan struct{} // closed when the fetch under way ends; else nil
}

// VerifySignature returns the payload of a token that a key of the issuer
// signed with one of the pinned algorithms. Errors that match errNoKeys are
// the issuer's.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	// The parser refuses every other algorithm, none among them, a header
	// with a key twice, and critical headers that it does not know. A key in
	// the header is never used.
	jws, err := jose.ParseSignedCompact(token, k.algorithms)
	if err != nil {
		return nil, fmt.Errorf("malformed token: %w", err)
	}
	header := jws.Signatures[0].Header
	candidates, err := k.findKeys(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return nil, err
	}
	for i := range candidates {
		if payload, err := jws.Verify(candidates[i].Key); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("no key of the issuer made the signature")
}

// findKeys returns the keys that may have signed a token. It fetches when the
// token names a key that is not known, or when the keys are old.
func (k *keySet) findKeys(ctx context.Context, kid, algorithm string) ([]jose.JSONWebKey, error) {
	for {
		k.mu.Lock()
		now := k.now()
		found := k.matchingKeys(kid, algorithm, now)
		fresh := now.Sub(k.fetched) < keysRefresh
		paused := now.Sub(k.tried) < keysPause
		flight, failed := k.flight, k.failed
		switch {
		case len(found) > 0 && (fresh || paused || flight != nil):
			k.mu.Unlock()
			return found, nil
		case flight != nil:
			k.mu.Unlock()
			select {
			case <-flight:
				continue
			case <-ctx.Done():
				return nil, errors.Join(errNoKeys, ctx.Err())
			}
		case paused && failed:
			k.mu.Unlock()
			return nil, errNoKeys
		case paused:
			k.mu.Unlock()
			return nil, errors.New("the issuer has no such key")
		}
		k.flight = make(chan struct{})
		k.mu.Unlock()
		// Others wait for this fetch: it does not end with this caller.
		if err := k.fetchKeys(context.WithoutCancel(ctx)); err != nil {
			k.logger.WarnContext(ctx, "the keys of the issuer cannot be fetched", "error", err)
		}
	}
}

// matchingKeys returns the keys that fit a token. A token that names none fits
// only a set of one: with several, OpenID Connect wants the name.
func (k *keySet) matchingKeys(kid, algorithm string, now time.Time) []jose.JSONWebKey {
	if now.Sub(k.fetched) >= keysEnd {
		return nil
	}
	var found []jose.JSONWebKey
	for _, key := range k.set {
		named := key.KeyID == kid || kid == "" && len(k.set) == 1
		if named && (key.Algorithm == "" || key.Algorithm == algorithm) {
			found = append(found, key)
		}
	}
	return found
}

// fetchKeys replaces the keys by those that the issuer publishes now. After an
// error the old ones stay.
func (k *keySet) fetchKeys(ctx context.Context) error {
	set, err := k.downloadKeys(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried, k.failed = k.now(), err != nil
	if err == nil {
		k.set, k.fetched = set, k.tried
	}
	if k.flight != nil {
		close(k.flight)
		k.flight = nil
	}
	return err
}

func (k *keySet) downloadKeys(ctx context.Context) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	response, err := k.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", k.url, response.Status)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return parseKeys(text)
}

// parseKeys reads a key set and keeps the public keys for signatures. Keys of
// kinds that are not known are left out, as RFC 7517 asks.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("the key set is not JSON: %w", err)
	}
	if len(document.Keys) > maxKeys {
		return nil, fmt.Errorf("the key set has %d keys, more than %d", len(document.Keys), maxKeys)
	}
	var set []jose.JSONWebKey
	for _, raw := range document.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && isUsableKey(&key) {
			set = append(set, key)
		}
	}
	if len(set) == 0 {
		return nil, errors.New("the key set has no usable key")
	}
	return set, nil
}

// isUsableKey reports whether a key may verify signatures: public keys of these
// types only. A private key in a public place is everybody's.
func isUsableKey(key *jose.JSONWebKey) bool {
	if !key.Valid() || key.Use != "" && key.Use != "sig" {
		return false
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return public.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	default:
		return false
	}
}

// newFetchClient returns a client within our bounds. Redirects are refused:
// the issuer's documents are where it says.
func newFetchClient(given *http.Client, plain bool) *http.Client {
	c := http.Client{}
	if given != nil {
		c = *given
	}
	if c.Timeout == 0 || c.Timeout > fetchTime {
		c.Timeout = fetchTime
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	c.Transport = &boundedTransport{next: c.Transport, plain: plain}
	c.Jar = nil
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("redirects are not followed") }
	return &c
}

// boundedTransport bounds answers and asks over https only, or on the
// loopback when the issuer itself is there.
type boundedTransport struct {
	next  http.RoundTripper
	plain bool
}

func (b *boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && (!b.plain || !Loopback(r.URL.Hostname())) {
		return nil, fmt.Errorf("%s: expected https", strings.ToValidUTF8(r.URL.Redacted(), ""))
	}
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, fetchBytes)
	}
	return response, err
}
