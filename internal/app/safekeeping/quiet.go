package safekeeping

import (
	"context"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/secretstore"
	"github.com/sallyport/sallyport/secrets"
)

// openQuietly reads the configuration for a change of secrets about which the user is
// asked nothing: no passphrase is, and no keychain, which may ask by itself.
func openQuietly(ctx context.Context, env *app.Environment, paths []string) (*app.Runtime, error) {
	quiet := *env
	quiet.Ask = nil
	quiet.Keychain = func(string) secretstore.Store { return closedKeychain{} }
	return app.OpenForSecrets(ctx, &quiet, paths)
}

// closedKeychain is a keychain that answers nothing.
type closedKeychain struct{}

func (closedKeychain) Secret(context.Context, string) (sallyport.Secret, bool, error) {
	return sallyport.Secret{}, false, secretstore.ErrNoKeychain
}

func (closedKeychain) Known(context.Context) ([]sallyport.Secret, error) { return nil, nil }

func (closedKeychain) Set(context.Context, string, sallyport.Secret) error {
	return secretstore.ErrNoKeychain
}

func (closedKeychain) Remove(context.Context, string) (bool, error) {
	return false, secretstore.ErrNoKeychain
}

// findSource returns the name of the source that has a value for a reference; empty
// when none has. A source that a new value in the file would hide, and that would have
// to ask the user, is an error.
func findSource(ctx context.Context, rt *app.Runtime, file app.SecretPlace, ref string) (name string, err error) {
	for i, b := range rt.InForce().Config.Secrets {
		ok := false
		switch {
		case b.EnvPrefix != "":
			name, ok, err = findVariable(ctx, rt, b.EnvPrefix, ref)
		case b.Dir != "":
			name = "folder " + b.Dir
			ok, err = holdsInDir(ctx, b.Dir, ref)
		case i == file.Index:
			name = file.Name
			_, ok, err = file.Source.Secret(ctx, ref)
		case i > file.Index:
			return "", fmt.Errorf("another source under secrets may have %s, and cannot be asked without a question", ref)
		}
		if ok || err != nil {
			return name, err
		}
	}
	return "", nil
}

// findVariable looks for a reference in the variables of a source.
func findVariable(ctx context.Context, rt *app.Runtime, prefix, ref string) (name string, ok bool, err error) {
	env, err := secrets.NewEnv(prefix, rt.Env.Pairs())
	if err != nil {
		return "", false, err
	}
	if _, ok, err = env.Secret(ctx, ref); ok {
		name, _ = secrets.Variable(prefix, ref)
	}
	return "variable " + name, ok, err
}

// holdsInDir reports whether a folder has a value for a reference.
func holdsInDir(ctx context.Context, path, ref string) (bool, error) {
	dir, err := secrets.OpenDir(path)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	_, ok, err := dir.Secret(ctx, ref)
	return ok, err
}
