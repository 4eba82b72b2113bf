// Package auth answers who is calling: it makes and checks bearer tokens,
// keeps principals and kill switches, believes the tokens of an OpenID Connect
// issuer, and guards HTTP surfaces against other sites and other hosts.
//
// Start with [Directory], [OIDC], [Chain] and [Guard]. It promises that a
// token is kept as a hash only and compared in constant time, that a
// revocation counts at the next use in every process, that no issuer can name
// a principal of the configuration, and that a request without a principal
// reaches no handler. It does not decide what a principal may do: the gate
// does, which asks [Switches] at every call.
//
// The register of promises is docs/guarantees.md: G-CALLER, G-EDGE.
package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
)

// tokenPrefix makes a token easy to find where it does not belong.
const tokenPrefix = "sallyport_"

// tokenBytes is the entropy of a token: 256 bits.
const tokenBytes = 32

// NewToken returns a fresh bearer token and the hash under which it is kept.
func NewToken() (token, hash string) {
	var b [tokenBytes]byte
	// Read never fails since Go 1.24: it aborts the program instead.
	_, _ = rand.Read(b[:])
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return token, HashToken(token)
}

// HashToken returns the form in which a token is stored: the SHA-256 in lower
// case hex. A token has 256 random bits, so that a slow hash would add
// nothing.
func HashToken(token string) string {
	return digest.Text(token)
}

// Tokens finds principals by token. It must be safe for concurrent use.
type Tokens interface {
	// Principal returns whose token this is; ok is false for any other text.
	// An error means that it is not known; then no caller is let in.
	Principal(ctx context.Context, token string) (p sallyport.Principal, ok bool, err error)
}

// Single is one token for one principal.
type Single struct {
	// Hash is what HashToken returned.
	Hash string
	// Owner is the principal of the token.
	Owner sallyport.Principal
}

// Principal compares in constant time. An empty hash matches nothing.
func (s Single) Principal(_ context.Context, token string) (sallyport.Principal, bool, error) {
	if !equalHashes(HashToken(token), s.Hash) {
		return sallyport.Principal{}, false, nil
	}
	return s.Owner, true, nil
}

// tokenChain asks several directories in order.
type tokenChain []Tokens

// Chain returns Tokens that ask each of the given ones in order; the first
// that knows a token decides. When none does and one could not say, its error
// is returned: a directory that cannot be read does not lock out who comes
// with a token of an issuer.
func Chain(tokens ...Tokens) Tokens { return tokenChain(slices.Clone(tokens)) }

func (c tokenChain) Principal(ctx context.Context, token string) (sallyport.Principal, bool, error) {
	var faults []error
	for _, t := range c {
		p, ok, err := t.Principal(ctx, token)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if ok {
			return p, true, nil
		}
	}
	return sallyport.Principal{}, false, errors.Join(faults...)
}
