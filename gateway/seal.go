package gateway

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/schema"
)

// maxStateBytes bounds the length of an encoded state. States of this server
// are shorter.
const maxStateBytes = 512

// stateSeal encrypts the state that a client keeps between two rounds of a call.
// Only this process can make or change such a state, and a state is valid for
// one call only. The key is random and is lost when the process ends.
type stateSeal struct{ aead cipher.AEAD }

func newSeal() (*stateSeal, error) {
	key := make([]byte, 32)
	// rand.Read never returns an error; it ends the program instead.
	_, _ = rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &stateSeal{aead}, nil
}

// sealState returns the state of a held call, bound to the given words.
func (s *stateSeal) sealState(bound []string, id string, expires time.Time) (string, error) {
	text := binary.BigEndian.AppendUint64(nil, uint64(expires.UnixMilli()))
	state := base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, append(text, id...), digestWords(bound)))
	if len(state) > maxStateBytes {
		return "", errors.New("gateway: the id of an approval is too long")
	}
	return state, nil
}

// openState returns the id in a state that is bound to the same words and has not
// expired. The error does not tell a forger what was wrong.
func (s *stateSeal) openState(bound []string, state string, now time.Time) (id string, err error) {
	if len(state) > maxStateBytes {
		return "", errors.New("it is not one of this server's for this call")
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil {
		return "", errors.New("it is not one of this server's for this call")
	}
	text, err := s.aead.Open(nil, nil, sealed, digestWords(bound))
	if err != nil || len(text) < 8 {
		return "", errors.New("it is not one of this server's for this call")
	}
	if now.UnixMilli() >= int64(binary.BigEndian.Uint64(text)) {
		return "", errors.New("it has expired")
	}
	return string(text[8:]), nil
}

// digestWords hashes a list of words. It writes each word after its length, so that
// two different lists never hash the same bytes.
func digestWords(words []string) []byte {
	h := sha256.New()
	for _, w := range words {
		// A hash never fails.
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(w))))
		_, _ = h.Write([]byte(w))
	}
	return h.Sum(nil)
}

// argsOf returns the digest of arguments in canonical form, because a client
// may encode them differently in the second round. Arguments that the gate
// would refuse have a digest too.
func argsOf(args json.RawMessage) string {
	text := []byte(args)
	if doc, err := schema.Parse(args); err == nil {
		text = doc.Canonical()
	}
	return digest.Text(text)
}
