package upstream_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// credentials are the operator's, each in the grant that uses it.
var credentials = map[string]func(*upstream.Server){
	"client_secret_secret": func(s *upstream.Server) { s.OAuth.Grant, s.OAuth.ClientSecret = oauth.ClientCredentials, "far/secret" },
	"private_key_secret":   func(s *upstream.Server) { s.OAuth.Grant, s.OAuth.PrivateKey = oauth.ClientCredentials, "far/key" },
	"assertion_secret":     func(s *upstream.Server) { s.OAuth.Grant, s.OAuth.Assertion = oauth.JWTBearer, "far/secret" },
}

func TestB1_ACredentialNeedsItsIssuer(t *testing.T) {
	for key, declare := range credentials {
		s := upstream.Server{OAuth: &oauth.Server{ClientID: "us"}}
		declare(&s)
		if err := s.OAuth.Check(); err == nil || !strings.Contains(err.Error(), "issuer: expected beside "+key) {
			t.Errorf("%s without an issuer = %v", key, err)
		}
		if s.OAuth.Issuer = "https://login.example.com"; s.OAuth.Check() != nil {
			t.Errorf("%s with an issuer = %v", key, s.OAuth.Check())
		}
	}
}
