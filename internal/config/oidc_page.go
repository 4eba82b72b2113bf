package config

import (
	"errors"
	"net/url"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
)

const oidcPageKey = oidcKey + ".page"

// OIDCPage says how people sign in at the page through an OpenID provider.
type OIDCPage struct {
	// ClientID is what the page is called at the provider; it is no audience of
	// tokens that call tools.
	ClientID string
	// ClientSecret is the reference of the secret that the provider gave the client;
	// empty for a public client.
	ClientSecret string
	// URL is where people reach the page: scheme, host and port.
	URL string
	// PermissionsClaim is the claim of the ID token that lists permissions, never empty.
	PermissionsClaim string
	// Scopes is what is asked for beside openid.
	Scopes []string
}

func oidcPageKeys() []row {
	set := func(store func(*OIDCPage, value)) func(*scope, value) {
		return func(s *scope, v value) { store(s.cfg.Security.OIDC.Page, v) }
	}
	return []row{
		{
			KeyDoc: KeyDoc{oidcPageKey, TypeMapping, false, true, "people sign in by a link or a token", "Client of the provider through which people sign in at the page.", "{client_id: sallyport-page, url: \"https://gate.example.com\"}"},
			set:    func(s *scope, _ value) { s.cfg.Security.OIDC.Page = &OIDCPage{} },
			done:   (*scope).checkPage,
		},
		{
			KeyDoc: KeyDoc{oidcPageKey + ".client_id", TypeText, true, true, "", "Name of the client at the provider; another one than `audience`.", "sallyport-page"},
			check:  (*scope).parseWord, set: set(func(p *OIDCPage, v value) { p.ClientID = v.text }),
		},
		{
			KeyDoc: KeyDoc{oidcPageKey + ".client_secret_secret", TypeText, false, true, "a public client", "Reference of the secret that holds the client secret.", "oidc/page"},
			check:  (*scope).exactRef, hide: true, set: set(func(p *OIDCPage, v value) { p.ClientSecret = v.text }),
		},
		{
			KeyDoc: KeyDoc{oidcPageKey + ".url", TypeText, true, true, "", "Where people reach the page: https, or http on this machine. The provider leads back to `/page/oidc/return` there, which the client has to list.", "\"https://gate.example.com\""},
			check:  (*scope).parsePageURL, set: set(func(p *OIDCPage, v value) { p.URL = v.text }),
		},
		{
			KeyDoc: KeyDoc{oidcPageKey + ".permissions_claim", TypeText, false, true, "that of the provider", "Claim of the ID token that lists the permissions: `page:read`, `approvals:decide` and `calls:stop` count.", "roles"},
			check:  (*scope).parseWord, set: set(func(p *OIDCPage, v value) { p.PermissionsClaim = v.text }),
		},
		{
			KeyDoc: KeyDoc{oidcPageKey + ".scopes", TypeTexts, false, true, "none beside `openid`", "Further scopes to ask for, when the claims need them.", "[profile]"},
			check:  (*scope).parseWord, set: set(func(p *OIDCPage, v value) { p.Scopes = v.list }),
		},
	}
}

// parsePageURL reads where the page is reached, without a path.
func (s *scope) parsePageURL(v string) (string, error) {
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", errors.New("expected a URL such as https://gate.example.com")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(v, "#") || u.Path != "" && u.Path != "/":
		return "", errors.New("expected a URL without user, path, query and fragment")
	}
	host, _, err := reach.SplitHostPort(u.Host)
	switch {
	case err != nil:
		return "", err
	case u.Scheme == "http" && !isLoopback(host):
		return "", errors.New("expected https: with http a host in between could sign in as another person")
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

// checkPage checks the client of the page against the rest of the provider.
func (s *scope) checkPage(key string) {
	o := s.cfg.Security.OIDC
	if o.Page.ClientID != "" && o.Page.ClientID == o.Audience {
		s.keyFault(s.file, s.places[key+".client_id"].at, key+".client_id",
			"%s.client_id: the same as %s.audience, so that what signs a person in would call tools: expected a client of its own", key, oidcKey)
	}
	if o.Page.PermissionsClaim == "" {
		o.Page.PermissionsClaim = o.PermissionsClaim
	}
}

// ownPage refuses a page that people reach in the clear while the server encrypts.
func (l *loader) ownPage() {
	o := l.cfg.Security.OIDC
	if o == nil || o.Page == nil || l.cfg.TLS == nil || !strings.HasPrefix(o.Page.URL, "http:") {
		return
	}
	at := l.places[oidcPageKey+".url"]
	l.addFault(at.file, at.at, oidcPageKey+".url", "%s.url: the server encrypts, with the certificate of tls: expected https", oidcPageKey)
}
