package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/sallyport/sallyport"
)

// A credential of the operator is good for years and for every holder, so that
// nothing a server says may choose who gets it. It goes to the issuer that is
// written beside it, at that issuer's origin or at the endpoint that is written
// too; tokens, which the issuer itself made, go where its metadata says.

// listCredentials lists the keys of the operator's credentials that are set.
func (s *Server) listCredentials() (keys []string) {
	for _, one := range []struct{ key, ref string }{
		{"client_secret_secret", s.ClientSecret}, {"private_key_secret", s.PrivateKey}, {"assertion_secret", s.Assertion},
	} {
		if one.ref != "" {
			keys = append(keys, one.key)
		}
	}
	return keys
}

func (s *Server) checkEndpoints() error {
	written := []string{s.TokenEndpoint}
	if s.Provider != nil {
		written = append(written, s.Provider.TokenEndpoint)
	}
	for _, at := range written {
		if at != "" && checkURL(at, true) != nil {
			return errors.New("token_endpoint: expected an address such as https://login.example.com/token")
		}
	}
	if s.TokenEndpoint != "" && s.Issuer == "" {
		return errors.New("token_endpoint: belongs to an issuer, which is missing")
	}
	return nil
}

// allowCredential reports whether a credential may be sent to an endpoint of an issuer.
func (s *Server) allowCredential(issuer, endpoint string) error {
	written := ""
	switch {
	case s.Provider != nil && sameIssuer(issuer, s.Provider.Issuer):
		written = s.Provider.TokenEndpoint
	case len(s.listCredentials()) == 0:
		return nil // what is sent is of this issuer's own making
	case !sameIssuer(issuer, s.Issuer):
		return fmt.Errorf("the issuer %s is not oauth.issuer, and gets no credential", clipQuote(issuer))
	default:
		written = s.TokenEndpoint
	}
	places := []string{originOf(issuer), originOf(written)}
	if at := originOf(endpoint); at == "" || !slices.Contains(places, at) {
		return fmt.Errorf("the issuer %s wants the credential at %s, which is elsewhere: "+
			"write that address as token_endpoint beside the issuer when it is right", clipQuote(issuer), clipQuote(endpoint))
	}
	return nil
}

// newSameOriginClient makes the client for the metadata of an issuer that gets
// a credential: no redirect leads to another origin, which would say where the
// credential goes.
func newSameOriginClient(c *sallyport.Call) *http.Client {
	out := newClient(c, maxHops)
	follow := out.CheckRedirect
	out.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if originOf(r.URL.String()) != originOf(via[0].URL.String()) {
			return errors.New("redirects to another origin")
		}
		return follow(r, via)
	}
	return out
}

func (a *Authority) newIssuerClient(c *sallyport.Call) *http.Client {
	if len(a.listCredentials()) > 0 {
		return newSameOriginClient(c)
	}
	return newClient(c, maxHops)
}
