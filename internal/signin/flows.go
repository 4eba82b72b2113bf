package signin

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"
)

const (
	// FlowLife is how long a person may take at an issuer.
	FlowLife = 10 * time.Minute
	// maxFlow bounds a sealed flow, in bytes; ours have about 300.
	maxFlow = 1024
	// maxUsed bounds the flows that are remembered because they were used. Attempts
	// admits fewer in their life.
	maxUsed = 5000
)

// ErrFlow: a person does not come back from a login that began in this browser, or does so
// too late or again.
var ErrFlow = errors.New("the login did not begin in this browser, is too old, or was used before")

// Flow is a login at an issuer that a person has begun.
type Flow struct {
	// State comes back from the issuer.
	State string
	// Nonce comes back in its token.
	Nonce string
	// Verifier is proven when the code is redeemed (RFC 7636).
	Verifier string
	// Expires is when it is too late to come back.
	Expires time.Time
}

// Flows are the logins that people have begun. A flow is in the browser that began it,
// sealed by a key of this process, so that no number of them fills the memory here. It is
// safe for concurrent use.
type Flows struct {
	seal cipher.AEAD
	now  func() time.Time

	mu   sync.Mutex
	used map[string]time.Time // by state, until they would be too old
}

// NewFlows returns flows with a fresh key; a nil clock means time.Now.
func NewFlows(now func() time.Time) (*Flows, error) {
	if now == nil {
		now = time.Now
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails since Go 1.24
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	return &Flows{seal: seal, now: now, used: map[string]time.Time{}}, err
}

// BeginFlow returns a fresh flow, and the form in which a browser keeps it.
func (f *Flows) BeginFlow() (flow *Flow, sealed string, err error) {
	flow = &Flow{randomText(), randomText(), randomText(), f.now().Add(FlowLife).UTC()}
	text, err := json.Marshal(flow)
	if err != nil {
		return nil, "", err
	}
	return flow, base64.RawURLEncoding.EncodeToString(f.seal.Seal(nil, nil, text, nil)), nil
}

// TakeFlow returns the flow of a browser to which an issuer returned a state, once. The error
// matches [ErrFlow].
func (f *Flows) TakeFlow(sealed, state string) (*Flow, error) {
	if len(sealed) > maxFlow || state == "" {
		return nil, ErrFlow
	}
	text, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, ErrFlow
	}
	if text, err = f.seal.Open(nil, nil, text, nil); err != nil {
		return nil, ErrFlow
	}
	var flow Flow
	if err := json.Unmarshal(text, &flow); err != nil {
		return nil, ErrFlow
	}
	if now := f.now(); !now.Before(flow.Expires) || flow.Expires.After(now.Add(FlowLife)) ||
		subtle.ConstantTimeCompare([]byte(state), []byte(flow.State)) != 1 || !f.markUsed(&flow, now) {
		return nil, ErrFlow
	}
	return &flow, nil
}

// markUsed reports whether a flow was not used before, and notes that it is now.
func (f *Flows) markUsed(flow *Flow, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.used, func(_ string, end time.Time) bool { return !now.Before(end) })
	if _, again := f.used[flow.State]; again || len(f.used) >= maxUsed {
		return false
	}
	f.used[flow.State] = flow.Expires
	return true
}

// randomText returns 256 random bits in 43 characters, which is also what RFC 7636 asks of a
// verifier.
func randomText() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
