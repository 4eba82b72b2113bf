package secrets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// Env finds secrets in environment variables: with the prefix "PREFIX_" the
// reference providers/openweather/apiKey is the variable
// PREFIX_PROVIDERS_OPENWEATHER_APIKEY. It is safe for concurrent use.
type Env struct {
	prefix string
	values map[string]string
	known  []sallyport.Secret
}

// NewEnv takes the variables that begin with prefix out of an environment in
// the form of os.Environ, once: later changes of the environment do not show.
// The prefix must be a name, because without one every variable of the process
// would be a secret that a reference can ask for.
func NewEnv(prefix string, environ []string) (*Env, error) {
	if !reach.IsEnvName(prefix) {
		return nil, fmt.Errorf("secrets: env: %q is not the beginning of a variable name (letters, digits and _)", prefix)
	}
	e := &Env{prefix: prefix, values: make(map[string]string)}
	for _, variable := range environ {
		name, value, ok := strings.Cut(variable, "=")
		if !ok || !strings.HasPrefix(name, prefix) {
			continue
		}
		// Where a name is repeated, getenv gives the first.
		if _, again := e.values[name]; again {
			continue
		}
		e.values[name] = value
		if len(value) >= reach.MinSecretBytes {
			e.known = append(e.known, sallyport.NewSecret(value))
		}
	}
	return e, nil
}

// Secret returns the value of the variable that belongs to a reference. An
// empty variable counts as absent, as it does for most programs.
func (e *Env) Secret(_ context.Context, ref string) (sallyport.Secret, bool, error) {
	if err := reach.CheckRef(ref); err != nil {
		return sallyport.Secret{}, false, err
	}
	name, ok := Variable(e.prefix, ref)
	if !ok {
		return sallyport.Secret{}, false, nil
	}
	value := e.values[name]
	switch {
	case value == "":
		return sallyport.Secret{}, false, nil
	case len(value) < reach.MinSecretBytes:
		return sallyport.Secret{}, false, tooShort(ref)
	default:
		return sallyport.NewSecret(value), true, nil
	}
}

// Known returns the values of all variables with the prefix. It is always the
// same slice, which must not be changed.
func (e *Env) Known(context.Context) ([]sallyport.Secret, error) { return e.known, nil }

// Check reports references that share a variable. A pattern shares one with
// what it does not cover when both lead to one name: "db/*" would read the
// variable of "db-prod/password" as "db/prod/password".
func (e *Env) Check(refs []string) error {
	var faults []error
	var entries []envEntry
	for _, text := range refs {
		ref, err := reach.ParseRef(text)
		if err != nil {
			faults = append(faults, fmt.Errorf("secret reference %q: %w", text, err))
			continue
		}
		if name, ok := Variable(e.prefix, ref.Path); ok {
			entries = append(entries, envEntry{ref, name})
		}
	}
	return errors.Join(append(faults, findCollisions(entries)...)...)
}

// envEntry is a declared reference with the variable that it leads to, or for
// a pattern with the beginning of its variables.
type envEntry struct {
	ref  reach.Ref
	name string
}

// findCollisions returns a fault for each two entries that lead to one
// variable.
func findCollisions(entries []envEntry) []error {
	var faults []error
	for i, a := range entries {
		for _, b := range entries[:i] {
			if a.ref == b.ref || a.ref.Covers(b.ref) || b.ref.Covers(a.ref) || !a.overlaps(b) {
				continue
			}
			longer := a.name
			if len(b.name) > len(longer) {
				longer = b.name
			}
			faults = append(faults, fmt.Errorf("secret references %q and %q lead to one environment variable (%s); rename one of them", b.ref, a.ref, longer))
		}
	}
	return faults
}

// overlaps reports whether some variable belongs to both entries.
func (a envEntry) overlaps(b envEntry) bool {
	switch {
	case a.ref.Below && b.ref.Below:
		return strings.HasPrefix(a.name+"_", b.name+"_") || strings.HasPrefix(b.name+"_", a.name+"_")
	case a.ref.Below:
		return strings.HasPrefix(b.name, a.name+"_")
	case b.ref.Below:
		return strings.HasPrefix(a.name, b.name+"_")
	default:
		return a.name == b.name
	}
}

// Variable returns the name of the variable that holds the value of a reference
// for an [Env] of a prefix; ok is false for a reference with a character that no
// portable variable name stands for, which no Env serves.
func Variable(prefix, ref string) (name string, ok bool) {
	var b strings.Builder
	b.Grow(len(prefix) + len(ref))
	b.WriteString(prefix)
	for i := range len(ref) {
		switch c := ref[i]; {
		case 'a' <= c && c <= 'z':
			b.WriteByte(c - 'a' + 'A')
		case c == '_', '0' <= c && c <= '9', 'A' <= c && c <= 'Z':
			b.WriteByte(c)
		case c == '/', c == '-', c == '.':
			b.WriteByte('_')
		default:
			return "", false
		}
	}
	return b.String(), true
}
