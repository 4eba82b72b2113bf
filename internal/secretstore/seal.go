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
		if err := CheckRef(ref); err != nil {
			return nil, errors.New("a key of what age has encrypted is not a secret reference")
		}
	}
	return values, nil
}

func isPassphrase(identity age.Identity) bool {
	_, ok := identity.(*age.ScryptIdentity)
	return ok
}
