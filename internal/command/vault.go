package command

import (
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/secrets"
)

// openTokens opens the vault when a server needs one, and puts it before the
// secrets of the configuration.
func (g *gate) openTokens(declared []upstream.Server, b *sallyport.Backends) (*oauth.Vault, error) {
	if !slices.ContainsFunc(declared, func(s upstream.Server) bool { return s.OAuth != nil }) {
		return nil, nil
	}
	vault, err := g.newVault()
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

// newVault stores tokens in the state. The key that seals them is not in the
// state.
func (g *gate) newVault() (*oauth.Vault, error) {
	return oauth.NewVault(g.settings, g.key.Derive("oauth tokens"))
}
