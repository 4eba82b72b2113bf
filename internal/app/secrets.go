package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/secretstore"
	"github.com/sallyport/sallyport/secrets"
)

// SecretPlace is a source of secret values.
type SecretPlace struct {
	// Name is what the source is called in texts, such as "variables
	// SALLYPORT_SECRET_*".
	Name string
	// Source finds the values.
	Source sallyport.SecretSource
	// Backend is what the configuration says of it.
	Backend config.SecretBackend
	// Index is its index in the configuration.
	Index int
}

// openSecrets opens the sources of the configuration.
func (rt *Runtime) openSecrets(ctx context.Context, t *Deployment) error {
	for i, b := range t.Config.Secrets {
		place := SecretPlace{Name: nameSource(t.Config, b), Backend: b, Index: i}
		switch {
		case b.EnvPrefix != "":
			source, err := secrets.NewEnv(b.EnvPrefix, rt.Env.Pairs())
			if err != nil {
				return err
			}
			place.Source = source
		case b.Dir != "":
			source, err := secrets.OpenDir(b.Dir)
			if err != nil {
				return t.Config.Fault("", "secrets", i, fmt.Sprintf("secrets.%d.dir: %s cannot be opened: %s: make the folder, closed to other users", i, b.Dir, fsx.Reason(err)))
			}
			t.closers = append(t.closers, source.Close)
			place.Source = source
		case b.Exec != nil:
			source, err := rt.openProgram(t, i, b.Exec)
			if err != nil {
				return t.Config.Fault("", "secrets", i, fmt.Sprintf("secrets.%d.exec: %s", i, err))
			}
			place.Source = source
		default:
			place.Source = rt.secretStore(b, SealFile)
			if rt.past != nil {
				break // nothing runs, so that no value is asked for
			}
			if _, err := place.Source.Known(ctx); err != nil {
				return t.Config.Fault("", "secrets", i, fmt.Sprintf("secrets.%d.file: %s", i, rt.ExplainSecret(err)))
			}
		}
		t.Secrets = append(t.Secrets, place)
	}
	return nil
}

// secretStore returns the source of a backend that users write with secrets set.
// It stays the same while the runtime lives, so that a passphrase is asked for
// once.
func (rt *Runtime) secretStore(b config.SecretBackend, kind SealKind) secretstore.Store {
	key := b.File + "\x00" + b.Keychain
	if known, ok := rt.stores[key]; ok {
		return known
	}
	var s secretstore.Store
	if b.Keychain != "" {
		s = rt.Env.keychain(b.Keychain)
	} else {
		s = secretstore.NewFile(b.File, &secretstore.FileOptions{
			Identities: rt.listIdentities(), Seal: rt.sealFor(kind), Exclusive: rt.changeAlone,
			Passphrase: func(ctx context.Context, again bool) (string, error) { return rt.askPassphrase(ctx, b.File, again) },
		})
	}
	if rt.stores == nil {
		rt.stores = map[string]secretstore.Store{}
	}
	rt.stores[key] = s
	return s
}

// SecretStores returns the sources that users write with secrets set, in the
// order of the configuration. kind says what a new file is sealed to.
func (rt *Runtime) SecretStores(kind SealKind) (places []SecretPlace) {
	for i, b := range rt.InForce().Config.Secrets {
		if b.File != "" || b.Keychain != "" {
			places = append(places, SecretPlace{nameSource(rt.InForce().Config, b), rt.secretStore(b, kind), b, i})
		}
	}
	return places
}

// UnlockSecrets opens the files of secrets before the first call, and asks for
// their passphrases. It returns why one stays locked.
func (rt *Runtime) UnlockSecrets(ctx context.Context) (locked []string) {
	for _, p := range rt.InForce().Secrets {
		if f, ok := p.Source.(*secretstore.File); ok {
			if _, err := f.Refs(ctx); err != nil {
				locked = append(locked, rt.ExplainSecret(err))
			}
		}
	}
	return locked
}

// ExplainSecret returns the text of an error of a source, with what to do.
func (rt *Runtime) ExplainSecret(err error) string {
	text := strings.TrimPrefix(err.Error(), "secrets: ")
	switch {
	case errors.Is(err, secretstore.ErrNoIdentity):
		text += "; put it into " + rt.Env.identityPath() + ", from where the file was made"
	case errors.Is(err, secretstore.ErrLocked):
		text += "; start the command in a terminal, or seal the file to an identity"
	}
	return text
}

// askPassphrase asks for the passphrase of a file; again is true for that of a
// new file.
func (rt *Runtime) askPassphrase(ctx context.Context, path string, again bool) (string, error) {
	if rt.Env.Ask == nil {
		return "", secretstore.ErrLocked
	}
	if !again {
		return rt.Env.Ask(ctx, "Passphrase of "+path+": ")
	}
	word, err := rt.Env.Ask(ctx, "New passphrase of "+path+": ")
	if err != nil {
		return "", err
	}
	if len(word) < minPassphrase {
		return "", fmt.Errorf("the passphrase has fewer than %d bytes", minPassphrase)
	}
	twice, err := rt.Env.Ask(ctx, "The same again: ")
	if err == nil && twice != word {
		err = errors.New("the two passphrases differ")
	}
	return word, err
}

// minPassphrase is the shortest passphrase of a new file, in bytes: age makes
// each guess slow, and short ones are few.
const minPassphrase = 8

// keychain returns the items of a service in the system's keychain.
func (env *Environment) keychain(service string) secretstore.Store {
	if env.Keychain != nil {
		return env.Keychain(service)
	}
	return secretstore.NewKeychain(service)
}

// nameSource returns what a source is called in texts.
func nameSource(c *config.Config, b config.SecretBackend) string {
	switch {
	case b.EnvPrefix != "":
		return "variables " + b.EnvPrefix + "*"
	case b.Dir != "":
		return "folder " + shortPath(c, b.Dir)
	case b.File != "":
		return "file " + shortPath(c, b.File)
	case b.Exec != nil:
		return "program " + b.Exec[0]
	default:
		return "keychain " + b.Keychain
	}
}

// shortPath returns a path as the file of the configuration would write it.
func shortPath(c *config.Config, path string) string {
	if rel, err := filepath.Rel(c.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// ReadSecret returns the value of a secret that the configuration names for the program
// itself, as it is now.
func (rt *Runtime) ReadSecret(ctx context.Context, ref string) (sallyport.Secret, error) {
	source := rt.InForce().secretsOf
	if source == nil {
		return sallyport.Secret{}, fmt.Errorf("the configuration has no secrets: %s is not there", ref)
	}
	value, ok, err := source.Secret(ctx, ref)
	if err == nil && (!ok || value.Reveal() == "") {
		err = fmt.Errorf("the secret %s has no value", ref)
	}
	return value, err
}

// chainSecrets returns all sources as one; nil when there is none.
func chainSecrets(places []SecretPlace) sallyport.SecretSource {
	if len(places) == 0 {
		return nil
	}
	var sources []sallyport.SecretSource
	for _, p := range places {
		sources = append(sources, p.Source)
	}
	return secrets.NewChain(slices.Clip(sources)...)
}
