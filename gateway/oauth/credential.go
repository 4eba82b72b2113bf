package oauth

import (
	"errors"
)

// A credential of the operator is good for years and for whoever has it, so that
// nothing a server says may choose who gets it. It goes to the issuer that is
// written beside it.

// credentials lists the keys of the operator's credentials that are set.
func (s *Server) credentials() (keys []string) {
	for _, one := range []struct{ key, ref string }{
		{"client_secret_secret", s.ClientSecret}, {"private_key_secret", s.PrivateKey}, {"assertion_secret", s.Assertion},
	} {
		if one.ref != "" {
			keys = append(keys, one.key)
		}
	}
	return keys
}

// checkEndpoints judges what is written as token_endpoint.
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
