package secretstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/sallyport/sallyport/internal/reach"
)

// typeScrypt is how age names a passphrase among what a file is sealed to.
const typeScrypt = "scrypt"

// opening is what opened a file, and seals it again.
type opening struct {
	identity  age.Identity
	recipient age.Recipient
	// others is true when the file is also sealed to recipients that are not
	// known: who seals it again would shut them out.
	others bool
}

// openSealed decrypts a file. ask is true when a user may be asked for a passphrase.
func (f *File) openSealed(ctx context.Context, sealed []byte, ask bool) (map[string]string, *opening, error) {
	types, err := sealTypes(sealed)
	if err != nil {
		return nil, nil, err
	}
	how, text, err := f.tryWays(ctx, sealed, types[0] == typeScrypt, ask)
	if err != nil {
		return nil, nil, err
	}
	how.others = len(types) > 1
	values, err := parseSealed(text)
	return values, how, err
}

// tryWays tries what opened the file last, then the passphrase or each identity.
func (f *File) tryWays(ctx context.Context, sealed []byte, passphrase, ask bool) (*opening, []byte, error) {
	if f.opened != nil && passphrase == isPassphrase(f.opened.identity) {
		how, text, err := firstOpening(sealed, []*opening{f.opened})
		if !errors.Is(err, errNotOpened) {
			return how, text, err
		}
		// It was sealed anew, to something else than before.
		f.opened = nil
	}
	if passphrase {
		if !ask {
			return nil, nil, ErrLocked
		}
		how, err := f.newPassphrase(ctx, false)
		if err != nil {
			return nil, nil, err
		}
		return firstOpening(sealed, []*opening{how})
	}
	tried, faults := false, []error(nil)
	for _, read := range f.o.Identities {
		ways, err := readIdentities(ctx, read)
		if err == nil && len(ways) > 0 {
			tried = true
			var how *opening
			var text []byte
			if how, text, err = firstOpening(sealed, ways); !errors.Is(err, errNotOpened) {
				return how, text, err
			}
			continue
		}
		faults = append(faults, err)
	}
	switch err := errors.Join(faults...); {
	case err != nil:
		return nil, nil, err
	case tried:
		return nil, nil, errNotOpened
	}
	return nil, nil, ErrNoIdentity
}

var (
	errNotOpened = errors.New("the passphrase or identity does not open it")
	errNoAge     = errors.New("it is broken, or not a file that age has encrypted")
)

// sealTypes returns the types of what a file is sealed to, at least one.
func sealTypes(sealed []byte) ([]string, error) {
	header, err := age.ExtractHeader(bytes.NewReader(sealed))
	if err != nil {
		return nil, errNoAge
	}
	var types []string
	for line := range strings.Lines(string(header)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "->" {
			types = append(types, words[1])
		}
	}
	if len(types) == 0 {
		return nil, errNoAge
	}
	return types, nil
}

// firstOpening returns the first way that opens a file, and what the file holds.
func firstOpening(sealed []byte, ways []*opening) (*opening, []byte, error) {
	for _, how := range ways {
		r, err := age.Decrypt(bytes.NewReader(sealed), how.identity)
		if errors.Is(err, age.ErrIncorrectIdentity) {
			continue
		}
		if err != nil {
			return nil, nil, errNoAge
		}
		text, err := io.ReadAll(io.LimitReader(r, maxSealedBytes))
		if err != nil {
			return nil, nil, errNoAge
		}
		return how, text, nil
	}
	return nil, nil, errNotOpened
}

// newPassphrase asks for a passphrase; again is true when it will seal a file
// that is new.
func (f *File) newPassphrase(ctx context.Context, again bool) (*opening, error) {
	if f.o.Passphrase == nil {
		return nil, ErrLocked
	}
	word, err := f.o.Passphrase(ctx, again)
	if err != nil {
		return nil, err
	}
	identity, err := age.NewScryptIdentity(word)
	if err != nil {
		return nil, errors.New("an empty passphrase")
	}
	recipient, err := age.NewScryptRecipient(word)
	if err != nil {
		return nil, errors.New("an empty passphrase")
	}
	if f.work > 0 {
		recipient.SetWorkFactor(f.work)
	}
	return &opening{identity: identity, recipient: recipient}, nil
}

// readIdentities returns the identities of one place, with what each seals to.
func readIdentities(ctx context.Context, read func(context.Context) (string, error)) (ways []*opening, err error) {
	text, err := read(ctx)
	if err != nil || text == "" {
		return nil, err
	}
	list, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		// What age says of a line may repeat it.
		return nil, errors.New("its identity is broken: expected a line AGE-SECRET-KEY-1…, as age-keygen writes it")
	}
	for _, identity := range list {
		how := &opening{identity: identity}
		switch i := identity.(type) {
		case *age.X25519Identity:
			how.recipient = i.Recipient()
		case *age.HybridIdentity:
			how.recipient = i.Recipient()
		}
		ways = append(ways, how)
	}
	return ways, nil
}

// NewIdentity returns a new identity in the form that age-keygen writes.
func NewIdentity() (string, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("# public key: %s\n%s\n", identity.Recipient(), identity), nil
}

// encryptValues encrypts values.
func encryptValues(values map[string]string, to age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to)
	if err != nil {
		return nil, err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := errors.Join(enc.Encode(values), w.Close()); err != nil {
		return nil, err
	}
	if out.Len() > maxSealedBytes {
		return nil, fmt.Errorf("it would be larger than %d bytes", maxSealedBytes)
	}
	return out.Bytes(), nil
}

// parseSealed reads what a file holds. Its error repeats nothing of it.
func parseSealed(text []byte) (map[string]string, error) {
	var values map[string]string
	dec := json.NewDecoder(bytes.NewReader(text))
	err := dec.Decode(&values)
	if _, more := dec.Token(); err != nil || more != io.EOF || values == nil {
		return nil, errors.New(`what age has encrypted is broken: expected one JSON object, such as {"providers/exa/apiKey": "…"}`)
	}
	if len(values) > maxSecrets {
		return nil, fmt.Errorf("it holds more than %d secrets", maxSecrets)
	}
	for _, ref := range slices.Sorted(maps.Keys(values)) {
		if err := reach.CheckRef(ref); err != nil {
			return nil, errors.New("a key of what age has encrypted is not a secret reference")
		}
	}
	return values, nil
}

func isPassphrase(identity age.Identity) bool {
	_, ok := identity.(*age.ScryptIdentity)
	return ok
}
