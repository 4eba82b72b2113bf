package oauth

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
)

// refPrefix begins the references of tokens, and the names of the records in
// which they are kept.
const refPrefix = "oauth/"

// maxKnown bounds the tokens that a vault remembers to have handed out. Those
// before have been renewed since.
const maxKnown = 512

// keyBytes is the length of the key of a vault.
const keyBytes = 32

// Store keeps small named values, such as the settings of a state. It must be
// safe for concurrent use, also by several processes.
type Store interface {
	// Get returns a value; ok is false when there is none.
	Get(ctx context.Context, name string) (value string, ok bool, err error)
	// Put stores or replaces a value.
	Put(ctx context.Context, name, value string) error
	// PutIfAbsent stores a value unless the name has one, which it returns then.
	PutIfAbsent(ctx context.Context, name, value string) (existing string, stored bool, err error)
	// Swap replaces a value when it still is old.
	Swap(ctx context.Context, name, old, value string) (swapped bool, err error)
	// Delete removes a value. A missing one is no error.
	Delete(ctx context.Context, name string) error
}

// Vault keeps tokens in a store, sealed with a key that is not in the store. It
// is the [sallyport.SecretSource] from which calls get them: a token is then
// removed from what the call returns. It is safe for concurrent use.
type Vault struct {
	store Store
	seal  cipher.AEAD

	mu      sync.Mutex
	tickets map[string]sallyport.Secret
	known   []sallyport.Secret // replaced, never changed in place
}

// NewVault returns a vault over a store. The key has 32 bytes.
func NewVault(store Store, key []byte) (*Vault, error) {
	if len(key) != keyBytes {
		return nil, fmt.Errorf("oauth: a key has %d bytes, this one has %d", keyBytes, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Vault{store: store, seal: seal, tickets: map[string]sallyport.Secret{}}, nil
}

// Secret returns a token for the ticket that a call was given. A ticket is good
// once: no declaration can name a token.
func (v *Vault) Secret(_ context.Context, ref string) (sallyport.Secret, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.tickets[ref]
	delete(v.tickets, ref)
	return s, ok, nil
}

// Known returns the tokens that were handed out.
func (v *Vault) Known(context.Context) ([]sallyport.Secret, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known, nil
}

// giveToken gives a token to a call, which treats it as a secret from then on.
func (v *Vault) giveToken(ctx context.Context, c *sallyport.Call, server, kind, value string) error {
	if value == "" {
		return nil
	}
	secret, ref := sallyport.NewSecret(value), refPrefix+server+"/"+kind+"/"+rand.Text()
	v.mu.Lock()
	v.tickets[ref] = secret
	if !slices.Contains(v.known, secret) {
		v.known = append(slices.Clone(v.known[max(0, len(v.known)+1-maxKnown):]), secret)
	}
	v.mu.Unlock()
	_, err := c.Secrets.Get(ctx, ref)
	v.mu.Lock()
	delete(v.tickets, ref)
	v.mu.Unlock()
	return err
}

// tokens is what is known of one principal at one server. The zero value is
// that of a principal who never logged in.
type tokens struct {
	// Issuer made the tokens, for Resource and for ClientID.
	Issuer   string `json:"issuer,omitempty"`
	Resource string `json:"resource,omitempty"`
	ClientID string `json:"client_id,omitempty"`
	// ClientSecret is what a registration gave.
	ClientSecret string `json:"client_secret,omitempty"`
	// Method is how the client says who it is, Algorithms what the issuer
	// takes of signatures.
	Method     string   `json:"method,omitempty"`
	Algorithms []string `json:"algorithms,omitempty"`
	// Endpoint is where Refresh is exchanged.
	Endpoint string    `json:"endpoint,omitempty"`
	Access   string    `json:"access,omitempty"`
	Refresh  string    `json:"refresh,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
	Scopes   []string  `json:"scopes,omitempty"`
	// Wanted is what the server said that it lacks.
	Wanted []string `json:"wanted,omitempty"`
	// Key is the private key to which the issuer binds tokens (PKCS #8), nil
	// for an issuer that binds none; Bound says that Access is bound to it.
	Key   []byte `json:"key,omitempty"`
	Bound bool   `json:"bound,omitempty"`
}

// loadTokens opens a record, which is empty when there is none.
func (v *Vault) loadTokens(ctx context.Context, name string) (tokens, error) {
	t, _, err := v.openRecord(ctx, name)
	return t, err
}

// openRecord opens a record and also returns its stored form.
func (v *Vault) openRecord(ctx context.Context, name string) (t tokens, stored string, err error) {
	stored, ok, err := v.store.Get(ctx, name)
	if err != nil || !ok {
		return t, "", err
	}
	sealed, err := base64.StdEncoding.DecodeString(stored)
	if err != nil {
		return t, stored, errors.New("oauth: a record of tokens is damaged")
	}
	plain, err := v.seal.Open(nil, nil, sealed, []byte(name))
	if err != nil {
		return t, stored, errors.New("oauth: a record of tokens was sealed with another key")
	}
	return t, stored, json.Unmarshal(plain, &t)
}

// saveTokens seals a record. Its name is sealed with it: one record is no other.
func (v *Vault) saveTokens(ctx context.Context, name string, t tokens) error {
	text, err := v.sealTokens(name, t)
	if err != nil {
		return err
	}
	return v.store.Put(ctx, name, text)
}

func (v *Vault) sealTokens(name string, t tokens) (string, error) {
	plain, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(v.seal.Seal(nil, nil, plain, []byte(name))), nil
}

// saveIfUnchanged saves a record unless another program has changed it since it was opened.
func (v *Vault) saveIfUnchanged(ctx context.Context, name, stored string, t tokens) (done bool, err error) {
	text, err := v.sealTokens(name, t)
	if err != nil {
		return false, err
	}
	if stored == "" {
		_, done, err = v.store.PutIfAbsent(ctx, name, text)
		return done, err
	}
	return v.store.Swap(ctx, name, stored, text)
}

// Status is what may be said of a principal's tokens.
type Status struct {
	// LoggedIn is true while there is a token.
	LoggedIn bool
	// Issuer made it.
	Issuer string
	// Scopes is what it is for.
	Scopes []string
	// Expires is when it ends unless it is renewed; zero means unknown.
	Expires time.Time
	// Renews is true when it can be renewed without anybody.
	Renews bool
}

// Forgotten is what was removed from a vault. [Authority.Revoke] takes it to the
// issuer.
type Forgotten struct {
	// Status is that of the tokens.
	Status
	tokens tokens
}

// String keeps tokens out of logs.
func (f Forgotten) String() string { return "[redacted]" }

// GoString keeps tokens out of logs.
func (f Forgotten) GoString() string { return "[redacted]" }

// Forget removes the tokens of a principal at a server and returns what was there.
func (v *Vault) Forget(ctx context.Context, s *Server, who string) (Forgotten, error) {
	name := s.recordName(who)
	t, err := v.loadTokens(ctx, name)
	if err == nil || strings.HasPrefix(err.Error(), "oauth:") {
		err = v.store.Delete(ctx, name)
	}
	return Forgotten{t.toStatus(), t}, err
}

// Mark tells the token of a principal at a server from others, without being of
// use to anybody; "" when there is none.
func (v *Vault) Mark(ctx context.Context, s *Server, who string) (string, error) {
	t, err := v.loadTokens(ctx, s.recordName(who))
	if err != nil || t.Access == "" {
		return "", err
	}
	return digest.Text(t.Access), nil
}

func (t *tokens) toStatus() Status {
	return Status{LoggedIn: t.Access != "", Issuer: t.Issuer, Scopes: t.Scopes, Expires: t.Expires, Renews: t.Refresh != ""}
}
