package safekeeping

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/secretstore"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/secrets"
)

// Choice says where a secret is stored.
type Choice struct {
	// Store is "file" or "keychain"; empty means the first store of the
	// configuration.
	Store string
	// Seal is what a new file is sealed to; empty means an identity in a file.
	Seal app.SealKind
}

// Stored says where a secret is now.
type Stored struct {
	// Ref is the reference.
	Ref string `json:"ref"`
	// Source is the store that holds it.
	Source string `json:"source"`
	// HiddenBy is an earlier source that has another value for the reference, and
	// is asked first; empty when there is none.
	HiddenBy string `json:"hidden_by,omitempty"`
}

// FindStore returns the store of a choice. It changes nothing, so that a user is
// not asked for a value that has nowhere to go.
func FindStore(rt *app.Runtime, c Choice) (app.SecretPlace, error) {
	kinds := []app.SealKind{"", app.SealFile, app.SealKeychain, app.SealPassphrase}
	if !slices.Contains(kinds, c.Seal) {
		return app.SecretPlace{}, fmt.Errorf("--identity %q: expected %s, %s or %s", c.Seal, kinds[1], kinds[2], kinds[3])
	}
	if !slices.Contains([]string{"", "file", "keychain"}, c.Store) {
		return app.SecretPlace{}, fmt.Errorf("--store %q: expected file or keychain", c.Store)
	}
	for _, p := range rt.SecretStores(c.Seal) {
		isFile := p.Backend.File != ""
		if c.Store == "file" && !isFile || c.Store == "keychain" && isFile {
			continue
		}
		if c.Seal == "" || !isFile {
			return p, nil
		}
		if _, err := os.Lstat(p.Backend.File); err == nil {
			return p, fmt.Errorf("--identity: %s exists, and stays sealed as it is", p.Backend.File)
		}
		return p, nil
	}
	what := "no store that a command can write"
	if c.Store != "" {
		what = "no " + c.Store
	}
	return app.SecretPlace{}, fmt.Errorf("secrets of the configuration names %s: write %s", what, proposeSecrets(rt, c.Store))
}

// proposeSecrets returns the line of a configuration with a store of a kind.
func proposeSecrets(rt *app.Runtime, kind string) string {
	var list []string
	for _, b := range rt.InForce().Config.Secrets {
		switch {
		case b.EnvPrefix != "":
			list = append(list, "{env: "+b.EnvPrefix+"}")
		case b.Dir != "":
			list = append(list, "{dir: "+b.Dir+"}")
		case b.File != "":
			list = append(list, "{file: "+b.File+"}")
		case b.Keychain != "":
			list = append(list, "{keychain: "+b.Keychain+"}")
		default:
			list = append(list, "{exec: […]}")
		}
	}
	if kind == "keychain" {
		list = append(list, "{keychain: sallyport}")
	} else {
		list = append(list, "{file: .sallyport/secrets.age}")
	}
	return "secrets: [" + strings.Join(list, ", ") + "]"
}

// SetSecret stores a value, and records that it does.
// What an import stored there before is the user's from then on: no rollback removes it.
func SetSecret(ctx context.Context, rt *app.Runtime, p app.SecretPlace, ref string, value sallyport.Secret) (Stored, error) {
	// The note goes first: with it, a rollback might remove what the user stores.
	if err := dropNote(ctx, rt, ref); err != nil {
		return Stored{}, err
	}
	return storeSecret(ctx, rt, p, ref, value)
}

// storeSecret stores a value and records that.
func storeSecret(ctx context.Context, rt *app.Runtime, p app.SecretPlace, ref string, value sallyport.Secret) (Stored, error) {
	store, ok := p.Source.(secretstore.Store)
	if !ok {
		return Stored{}, fmt.Errorf("%s cannot be written", p.Name)
	}
	err := rt.RecordFirst(ctx, app.ChangeEvent(audit.ActionSecret, ref, "stored in the "+p.Name), func() error {
		if err := store.Set(ctx, ref, value); err != nil {
			return errors.New(rt.ExplainSecret(err))
		}
		return nil
	})
	if err != nil {
		return Stored{}, err
	}
	return Stored{ref, p.Name, findHiding(ctx, rt, p, ref)}, nil
}

// findHiding names an earlier variable or folder with a value of its own.
func findHiding(ctx context.Context, rt *app.Runtime, p app.SecretPlace, ref string) string {
	for _, b := range rt.InForce().Config.Secrets[:p.Index] {
		if b.EnvPrefix == "" {
			continue
		}
		env, err := secrets.NewEnv(b.EnvPrefix, rt.Env.Pairs())
		if err != nil {
			continue
		}
		if _, ok, _ := env.Secret(ctx, ref); ok {
			name, _ := secrets.Variable(b.EnvPrefix, ref)
			return "variable " + name
		}
	}
	return ""
}

// RemoveSecret removes a reference from every store that has it, records that, and
// returns their names. It is an error when none has it.
func RemoveSecret(ctx context.Context, rt *app.Runtime, ref string) (from []string, err error) {
	from, err = removeEverywhere(ctx, rt, ref)
	if err == nil {
		err = dropNote(ctx, rt, ref)
	}
	if len(from) > 0 {
		done := app.ChangeEvent(audit.ActionSecret, ref, "removed from the "+strings.Join(from, " and the "))
		err = errors.Join(err, rt.RecordDone(ctx, done, ""))
	}
	return from, err
}

func removeEverywhere(ctx context.Context, rt *app.Runtime, ref string) (from []string, err error) {
	var known []string
	for _, p := range rt.SecretStores("") {
		ok, err := p.Source.(secretstore.Store).Remove(ctx, ref)
		if err != nil && (len(from) > 0 || !errors.Is(err, secretstore.ErrNoKeychain)) {
			return from, fmt.Errorf("%s: %s", p.Name, rt.ExplainSecret(err))
		}
		if ok {
			from = append(from, p.Name)
		}
		if lister, ok := p.Source.(secretstore.Lister); ok {
			refs, _ := lister.Refs(ctx)
			known = append(known, refs...)
		}
	}
	if len(from) > 0 {
		return from, nil
	}
	text := fmt.Sprintf("no store has %q", ref)
	if near := yamldoc.Suggest(ref, known); near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return nil, errors.New(text + "; variables and folders of secrets are not changed by this command")
}
