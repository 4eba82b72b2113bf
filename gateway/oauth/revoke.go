package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/sallyport/sallyport"
)

// Revoke tells the issuer that made tokens that they are not used any more (RFC
// 7009). told is false when the issuer takes no revocations, or there was nothing
// to revoke. The tokens are sent only where the issuer says in its
// metadata.
func (a *Authority) Revoke(ctx context.Context, c *sallyport.Call, f Forgotten) (told bool, err error) {
	t := f.tokens
	if t.Access == "" && t.Refresh == "" || t.Issuer == "" {
		return false, nil
	}
	i, err := fetchMetadata(ctx, a.newIssuerClient(c), t.Issuer, false)
	switch {
	case errors.Is(err, errAbsent), err == nil && i.revocation == "":
		return false, nil
	case err != nil:
		return false, a.wrapFailure(fmt.Errorf("the metadata of its issuer %s: %w", clipQuote(t.Issuer), err))
	}
	// Judged here alone: a login does not need it.
	if err := checkURL(i.revocation, isLoopbackURL(t.Issuer)); err != nil {
		return false, a.wrapFailure(fmt.Errorf("the metadata of its issuer %s: revocation_endpoint: %w", clipQuote(t.Issuer), err))
	}
	for kind, value := range map[string]string{"access": t.Access, "refresh": t.Refresh, "client": t.ClientSecret} {
		if err := a.vault.giveToken(ctx, c, a.Name, kind, value); err != nil {
			return false, err
		}
	}
	// With the refresh token many issuers end all that came of the login.
	for _, one := range []struct{ hint, token string }{{"refresh_token", t.Refresh}, {"access_token", t.Access}} {
		if one.token == "" {
			continue
		}
		err := a.revokeToken(ctx, c, &t, i.revocation, url.Values{"token": {one.token}, "token_type_hint": {one.hint}})
		if r, ok := errors.AsType[*grantRefusal](err); ok && r.code == "unsupported_token_type" && told {
			continue // an issuer need not revoke tokens that soon end by themselves
		}
		if err != nil {
			return false, a.wrapFailure(err)
		}
		told = true
	}
	return told, nil
}

func (a *Authority) revokeToken(ctx context.Context, c *sallyport.Call, t *tokens, at string, form url.Values) error {
	resp, err := a.sendForm(ctx, c, t, at, http.Header{}, form)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil // also for a token that it does not know
	}
	return refusalOf(resp, "a revocation")
}
