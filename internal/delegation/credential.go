package delegation

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

const (
	// credentialPrefix makes a credential easy to find where it does not belong.
	credentialPrefix = "sallyport_task_"
	// maxCredentialBytes bounds one; those of three delegations have about 170 bytes.
	maxCredentialBytes = 512
)

// NewBook returns an empty book with a key of its own: no credential of another process,
// or of an earlier one, counts.
func NewBook() *Book {
	b := &Book{key: make([]byte, sha256.Size), live: map[string]*Delegation{}, own: map[string]int{}}
	// Read never fails since Go 1.24: it aborts the program instead.
	_, _ = rand.Read(b.key)
	return b
}

// link is what one step of a chain says: the key of the next step is its seal.
type link struct {
	ID     string `json:"id"`
	Remote bool   `json:"remote"`
	Terms  Terms  `json:"terms"`
}

// sealCredential returns the seal of the delegation, which depends on who delegated, in which
// session and role, and on the terms of every delegation on the way to it.
func (d *Delegation) sealCredential() ([]byte, error) {
	key := d.book.key
	for i, one := range d.listPath() {
		if i == 0 {
			who, err := json.Marshal([]string{one.Principal.Name, one.caller.Session, one.caller.Personality})
			if err != nil {
				return nil, err
			}
			key = signText(key, who)
		}
		text, err := json.Marshal(link{one.ID, one.Remote, one.Terms})
		if err != nil {
			return nil, err
		}
		key = signText(key, text)
	}
	return key, nil
}

func signText(key, text []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(text)
	return m.Sum(nil)
}

// Credential is the text by which a remote sub-agent calls. It names the chain and bears
// its seal.
func (d *Delegation) Credential() string {
	return credentialPrefix + d.Chain() + "." + base64.RawURLEncoding.EncodeToString(d.mac)
}

// Verify returns the delegation of a credential, nil for any other text, for one that is
// over or has expired, and for one that is not remote. The chain is sealed again from the
// terms that hold, so that neither can differ from what was given.
func (b *Book) Verify(credential string, now time.Time) *Delegation {
	text, ok := strings.CutPrefix(credential, credentialPrefix)
	if b == nil || !ok || len(credential) > maxCredentialBytes {
		return nil
	}
	chain, seal, ok := strings.Cut(text, ".")
	mac, err := base64.RawURLEncoding.Strict().DecodeString(seal)
	if !ok || err != nil {
		return nil
	}
	d := b.Find(chain[strings.LastIndexByte(chain, '/')+1:])
	if d == nil || !d.Remote || d.Chain() != chain {
		return nil
	}
	want, err := d.sealCredential()
	if err != nil || !hmac.Equal(want, mac) {
		return nil
	}
	for one := d; one != nil; one = one.parent {
		if !now.Before(one.Terms.Until) {
			return nil
		}
	}
	return d
}
