package app

import (
	"context"

	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/ownregistry"
)

// storeWithSecrets returns the store of packages with the references that the sources
// of secrets have.
func (i *packageInstaller) storeWithSecrets(ctx context.Context) *install.Store {
	return i.store.WithSecrets(i.knownSecret(ctx, install.NPM), i.knownSecret(ctx, install.PyPI))
}

// knownSecret returns the reference of a registry when a source has it.
func (i *packageInstaller) knownSecret(ctx context.Context, r install.Registry) string {
	ref := ownregistry.SecretRef(string(r), i.addresses[r])
	if ref == "" || i.backends.Secrets == nil {
		return ""
	}
	if _, ok, err := i.backends.Secrets.Secret(ctx, ref); err == nil && !ok {
		return ""
	}
	// A source that fails says why when the value is asked for.
	return ref
}
