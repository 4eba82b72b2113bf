package install

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/sallyport/sallyport"
)

// WithSecrets returns the store for registries that want to know who asks: each
// reference is that of a token, or of a user and a password with a colon between
// them; an empty one means none. The value is sent to that registry alone, and is in
// no argument, file that stays, or text.
func (s *Store) WithSecrets(npm, pypi string) *Store {
	c := *s
	c.secrets = map[Registry]string{NPM: npm, PyPI: pypi}
	return &c
}

// needSecret declares the secret of a registry, where there is one.
func (s *Store) needSecret(r Registry, c *sallyport.Capabilities) {
	if ref := s.secrets[r]; ref != "" {
		c.Secrets = []string{ref}
	}
}

// credential is what a registry wants to know; the zero value is nothing.
type credential struct{ user, password, token string }

// readCredential reads the secret of a registry.
func (s *Store) readCredential(ctx context.Context, c *sallyport.Call, r Registry) (k credential, err error) {
	ref := s.secrets[r]
	if ref == "" {
		return k, nil
	}
	secret, err := c.Secrets.Get(ctx, ref)
	if err != nil {
		return k, err
	}
	value := secret.Reveal()
	if strings.ContainsAny(value, " \t\r\n\x00\"'#;") || strings.Contains(value, "${") {
		return k, sallyport.InputInvalid(fmt.Sprintf("the secret %s is no token: it has a blank, a quotation mark or a sign that settings files read", ref))
	}
	if user, password, ok := strings.Cut(value, ":"); ok {
		return credential{user: user, password: password}, nil
	}
	return credential{token: value}, nil
}

func (k credential) isZero() bool { return k == credential{} }

// basic returns user and password as HTTP has them.
func (k credential) basic() string {
	return base64.StdEncoding.EncodeToString([]byte(k.user + ":" + k.password))
}

// signRequest adds the credential to a request to the registry.
func (k credential) signRequest(r *http.Request) {
	switch {
	case k.isZero():
	case k.token != "":
		r.Header.Set("Authorization", "Bearer "+k.token)
	default:
		r.Header.Set("Authorization", "Basic "+k.basic())
	}
}

// settingsFor returns the file of settings from which the program that installs has
// the credential. It lies in the memory of the child alone.
func (s *Store) settingsFor(r Registry, k credential) []byte {
	switch {
	case k.isZero():
		return nil
	case r == PyPI:
		if k.token != "" {
			k.user, k.password = "__token__", k.token
		}
		return fmt.Appendf(nil, "machine %s login %s password %s\n", s.index.Hostname(), k.user, k.password)
	case k.token != "":
		return fmt.Appendf(nil, "//%s%s:_authToken=%s\n", s.npm.Host, s.npm.Path, k.token)
	default:
		return fmt.Appendf(nil, "//%s%s:_auth=%s\n", s.npm.Host, s.npm.Path, k.basic())
	}
}
