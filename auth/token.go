// Package auth answers who is calling: it makes and checks bearer tokens and
// guards HTTP surfaces against other sites and other hosts.
//
// Start with [NewToken] and [Guard]. It promises that a token is kept as a
// hash only and compared in constant time, and that a request without a
// principal reaches no handler. It does not decide what a principal may do.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/sallyport/sallyport"
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
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Tokens finds principals by token. It must be safe for concurrent use.
type Tokens interface {
	// Principal returns whose token this is; ok is false for any other text.
	Principal(token string) (p sallyport.Principal, ok bool)
}

// Single is one token for one principal.
type Single struct {
	// Hash is what HashToken returned.
	Hash string
	// Owner is the principal of the token.
	Owner sallyport.Principal
}

// Principal compares in constant time. An empty hash matches nothing.
func (s Single) Principal(token string) (sallyport.Principal, bool) {
	if s.Hash == "" || subtle.ConstantTimeCompare([]byte(HashToken(token)), []byte(s.Hash)) != 1 {
		return sallyport.Principal{}, false
	}
	return s.Owner, true
}

// bearer returns the token of an Authorization header.
func bearer(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}
