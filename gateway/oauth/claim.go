package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/sallyport/sallyport"
)

// The words of RFC 7523, RFC 8693 and the draft of identity assertion grants.
const (
	grantJWT      = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeIDToken   = "urn:ietf:params:oauth:token-type:id_token"
	typeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"
)

// newClaimForm makes the request for a token without a login, to the issuer of
// t.
func (a *Authority) newClaimForm(ctx context.Context, c *sallyport.Call, t *tokens) (url.Values, error) {
	if a.Grant == ClientCredentials {
		return url.Values{"grant_type": {string(ClientCredentials)}}, nil
	}
	secret, err := c.Secrets.Get(ctx, a.Assertion)
	if err != nil {
		return nil, err
	}
	statement := secret.Reveal()
	if a.Provider != nil {
		if statement, err = a.exchangeIdentity(ctx, c, t, statement); err != nil {
			return nil, fmt.Errorf("its identity provider: %w", err)
		}
	}
	return url.Values{"grant_type": {grantJWT}, "assertion": {statement}}, nil
}

// exchangeIdentity exchanges a person's ID token, at the identity provider, for
// a statement to the issuer of t about its resource.
func (a *Authority) exchangeIdentity(ctx context.Context, c *sallyport.Call, t *tokens, identity string) (string, error) {
	p, err := fetchMetadata(ctx, newSameOriginClient(c), a.Provider.Issuer, false)
	if err != nil {
		return "", err
	}
	there := tokens{Issuer: p.name, Resource: t.Resource, Endpoint: p.token, ClientID: a.Provider.ClientID, Method: methodNone}
	if a.Provider.ClientSecret != "" {
		secret, err := c.Secrets.Get(ctx, a.Provider.ClientSecret)
		if err != nil {
			return "", err
		}
		there.ClientSecret, there.Method = secret.Reveal(), chooseSecretMethod(p.methods)
	}
	d, err := a.postWithNonce(ctx, c, &there, url.Values{
		"grant_type": {grantExchange}, "requested_token_type": {typeIDJAG}, "audience": {t.Issuer},
		"subject_token": {identity}, "subject_token_type": {typeIDToken},
	})
	if err != nil {
		return "", err
	}
	statement := d.stringField("access_token")
	if d.err != nil || d.stringField("issued_token_type") != typeIDJAG || !isHeaderSafe(statement) {
		return "", errors.New("its answer is no statement for an issuer")
	}
	return statement, a.vault.giveToken(ctx, c, a.Name, "statement", statement)
}
