package app

import (
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/secrets"
)

// openTokens opens the vault when a server needs one, and puts it before the
// secrets of the configuration.
func (rt *Runtime) openTokens(declared []upstream.Server, b *sallyport.Backends) (*oauth.Vault, error) {
	if !slices.ContainsFunc(declared, func(s upstream.Server) bool { return s.OAuth != nil }) {
		return nil, nil
	}
	vault, err := rt.NewVault()
	if err != nil {
		return nil, err
	}
	sources := []sallyport.SecretSource{vault}
	if b.Secrets != nil {
		sources = append(sources, b.Secrets)
	}
	b.Secrets = secrets.NewChain(sources...)
	return vault, nil
}

// NewVault stores tokens in the state. The key that seals them is not in the
// state.
func (rt *Runtime) NewVault() (*oauth.Vault, error) {
	return oauth.NewVault(rt.Settings, rt.key.Derive("oauth tokens"))
}
