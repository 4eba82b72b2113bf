package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	oidcKey = "security.oidc"
	// maxWordBytes bounds a word of an OpenID provider. Claims may be named
	// by a URL.
	maxWordBytes = 256
)

// Security says how callers are known and what all of them may do.
type Security struct {
	// DefaultPermissions is what every principal holds.
	DefaultPermissions []string
	// RequireAuth is false when HTTP callers need no token; absent means true.
	RequireAuth bool
	// OIDC says whose tokens are believed beside those of the principals; nil
	// means none.
	OIDC *OIDC
}

// OIDC says which tokens of an OpenID provider are believed.
type OIDC struct {
	// Issuer is the provider's URL, as its tokens write it.
	Issuer string
	// Audience is what a token's aud must name.
	Audience string
	// PermissionsClaim is the claim that lists permissions.
	PermissionsClaim string
	// PrincipalClaim is the claim that names the principal, never empty.
	PrincipalClaim string
	// Algorithms lists the signature algorithms that are accepted, at least
	// one, all of them asymmetric.
	Algorithms []string
	// Personalities lists the roles that such a caller may take.
	Personalities []string
	// Page says how people sign in at the page; nil means that they do not.
	Page *OIDCPage
}

// signingAlgorithms lists the asymmetric algorithms of RFC 7518 and RFC 8037:
// with a symmetric one, or none, a holder of the public key could sign.
func signingAlgorithms() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
}

// securityKeys are the keys that the documents' form has too, in its own
// spelling.
func securityKeys(parent, permissions, auth, log string) []row {
	alias := func(name string) string {
		if parent == "security" {
			return ""
		}
		return "security." + name
	}
	return []row{
		{
			KeyDoc: KeyDoc{parent, TypeMapping, false, true, "", "How callers are known and what all of them may do.", "{" + auth + ": true}"},
			adds:   true,
		},
		{
			KeyDoc: KeyDoc{parent + "." + permissions, TypeTexts, false, true, "none", "Permissions that every principal holds.", "[\"http:read\"]"},
			check:  (*scope).parsePermission, means: alias("default_permissions"),
			set: func(s *scope, v value) { s.cfg.Security.DefaultPermissions = v.list },
		},
		{
			KeyDoc: KeyDoc{parent + "." + auth, TypeBool, false, true, "true", "Whether HTTP callers need a token.", "true"},
			means:  alias("require_auth"),
			set:    func(s *scope, v value) { s.cfg.Security.RequireAuth = v.flag },
		},
		{
			KeyDoc: KeyDoc{parent + "." + log, TypeBool, false, true, "true", "Always true: the record of calls cannot be switched off.", "true"},
			check:  (*scope).checkRecord, means: alias("audit_log"),
		},
	}
}

func oidcKeys() []row {
	set := func(store func(*OIDC, value)) func(*scope, value) {
		return func(s *scope, v value) { store(s.cfg.Security.OIDC, v) }
	}
	return []row{
		{
			KeyDoc: KeyDoc{oidcKey, TypeMapping, false, true, "tokens of no provider are believed", "OpenID provider whose tokens are believed.", "{issuer: \"https://login.example.com\", audience: sallyport, permissions_claim: permissions}"},
			set: func(s *scope, _ value) {
				s.cfg.Security.OIDC = &OIDC{PrincipalClaim: "sub", Algorithms: []string{"RS256", "ES256"}}
			},
			done: (*scope).checkProvider,
		},
		{
			KeyDoc: KeyDoc{oidcKey + ".issuer", TypeText, true, true, "", "URL of the provider as its tokens write it, with https; http for a provider on this machine.", "\"https://login.example.com\""},
			check:  (*scope).parseIssuer, set: set(func(o *OIDC, v value) { o.Issuer = v.text }),
		},
		{
			KeyDoc: KeyDoc{oidcKey + ".audience", TypeText, true, true, "", "What a token's `aud` must name.", "sallyport"},
			check:  (*scope).parseWord, set: set(func(o *OIDC, v value) { o.Audience = v.text }),
		},
		{
			KeyDoc: KeyDoc{oidcKey + ".permissions_claim", TypeText, true, true, "", "Claim that lists the permissions.", "permissions"},
			check:  (*scope).parseWord, set: set(func(o *OIDC, v value) { o.PermissionsClaim = v.text }),
		},
		{
			KeyDoc: KeyDoc{oidcKey + ".principal_claim", TypeText, false, true, "sub", "Claim that names the principal.", "sub"},
			check:  (*scope).parseWord, set: set(func(o *OIDC, v value) { o.PrincipalClaim = v.text }),
		},
		{
			KeyDoc: KeyDoc{oidcKey + ".algorithms", TypeTexts, false, true, "[RS256, ES256]", "Signature algorithms that are accepted; symmetric ones are not.", "[RS256, ES256]"},
			words:  signingAlgorithms(), set: set(func(o *OIDC, v value) { o.Algorithms = v.list }),
		},
		{
			KeyDoc: KeyDoc{oidcKey + ".personalities", TypeTexts, false, true, "the only personality, else `default`, else none", "Personalities that such a caller may take.", "[researcher]"},
			set:    set(func(o *OIDC, v value) { o.Personalities = v.list }), refersTo: "personalities",
		},
	}
}

// checkRecord refuses a configuration without a record.
func (s *scope) checkRecord(v string) (string, error) {
	if !strings.EqualFold(v, "true") {
		return "", errors.New("the record of calls cannot be switched off: remove the key, or write true")
	}
	return v, nil
}

// parseWord reads one printable word without blanks.
func (s *scope) parseWord(v string) (string, error) {
	bad := strings.IndexFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f })
	if v == "" || len(v) > maxWordBytes || bad >= 0 {
		return "", fmt.Errorf("%s: expected 1 to %d ASCII characters without blanks", yamldoc.Quote(v), maxWordBytes)
	}
	return v, nil
}

// parseIssuer reads the URL of a provider and stores it as it is written:
// tokens are compared with it byte by byte (OpenID Connect Core 1.0, section
// 3.1.3.7).
func (s *scope) parseIssuer(v string) (string, error) {
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", errors.New("expected a URL such as https://login.example.com")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(v, "#"):
		return "", errors.New("expected a URL without user, query and fragment")
	}
	host, _, err := reach.SplitHostPort(u.Host)
	switch {
	case err != nil:
		return "", err
	case u.Scheme == "http" && !isLoopback(host):
		return "", errors.New("expected https: with http a host in between could replace the keys")
	}
	return v, nil
}

// checkProvider checks the keys of an OpenID provider together.
func (s *scope) checkProvider(key string) {
	at, given := s.places[key+".algorithms"]
	if _, item := s.places[key+".algorithms.0"]; given && !item && len(s.cfg.Security.OIDC.Algorithms) == 0 {
		s.addFault(s.file, at.at, key+".algorithms", "%s.algorithms: an empty list accepts no token: expected at least one, or remove the key", key)
	}
}
