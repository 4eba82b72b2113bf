package auth

import (
	"encoding/json"
	"net/http"
	"strings"
)

// MetadataPath is where clients ask what protects a resource (RFC 9728): here
// for the one of a server, and with the path of the resource behind it.
const MetadataPath = "/.well-known/oauth-protected-resource"

// Resource tells clients which provider's tokens open a path of this server,
// as RFC 9728 has it. It is safe for concurrent use.
type Resource struct {
	// Path is the path of the resource, such as /mcp.
	Path string
	// Issuer returns the URL of the provider, and "" while there is none: then
	// there is nothing to tell. It is asked at each request.
	Issuer func() string
	// Scopes returns the scopes that are of use here; nil tells none. It is
	// asked at each request.
	Scopes func() []string
}

// resourceMetadata is the document of RFC 9728, section 2.
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
}

// ServeHTTP answers with the document, and 404 while there is no provider.
func (p *Resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	issuer := p.Issuer()
	if issuer == "" {
		http.NotFound(w, r)
		return
	}
	doc := resourceMetadata{Resource: baseURL(r) + p.Path, Servers: []string{issuer}, Methods: []string{"header"}}
	if p.Scopes != nil {
		doc.Scopes = p.Scopes()
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	// A client that is gone cannot be told.
	_ = enc.Encode(doc)
}

// challengeFor returns the WWW-Authenticate header for a request without a
// good token. One that brought something is told so, as RFC 6750 (section 3.1) says; one
// that brought nothing learns no error. A nil resource has no provider to lead to.
func (p *Resource) challengeFor(r *http.Request) string {
	challenge := `Bearer realm="sallyport"`
	if len(r.Header.Values("Authorization")) > 0 {
		challenge += `, error="invalid_token", error_description="the token is malformed, unknown, expired or revoked"`
	}
	if p == nil || r.URL.Path != p.Path || p.Issuer() == "" {
		return challenge
	}
	return challenge + `, resource_metadata="` + baseURL(r) + MetadataPath + p.Path + `"`
}

// baseURL returns the URL of this server as the client called it. The Host
// header is one that the guard accepted, so that it holds nothing but a name
// and a port. Behind a proxy that ends TLS the proxy says so; a client that
// says it itself changes its own answer only.
func baseURL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	return scheme + "://" + strings.ToLower(r.Host)
}
