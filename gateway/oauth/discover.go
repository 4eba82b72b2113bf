package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/sallyport/sallyport"
)

// maxHops bounds the redirects to a document of metadata. The few servers that
// redirect it do so once, to another form of the host or path.
const maxHops = 3

// challenge is what a server says when it refuses a request.
type challenge struct {
	// metadata is the address of the document that describes the server.
	metadata string
	// scopes is what a token should be for.
	scopes []string
	// nonce is true when a proof is wanted with the nonce of this answer.
	nonce bool
	// lacking is true when the token is good but for too little.
	lacking bool
}

// challengeOf reads the challenge of an answer. One that cannot be read says
// nothing.
func challengeOf(resp *http.Response) (c challenge) {
	list, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	for _, said := range list {
		if said.Scheme != "bearer" && said.Scheme != "dpop" {
			continue
		}
		scopes := strings.Fields(said.Params["scope"])
		if checkScopes(scopes) == nil {
			c.scopes = scopes
		}
		c.metadata = said.Params["resource_metadata"]
		c.nonce = said.Params["error"] == wantsNonce
		c.lacking = said.Params["error"] == "insufficient_scope"
		return c
	}
	return c
}

// discoveryResult is what discovery finds out about a server.
type discoveryResult struct {
	// resource is what tokens are asked for.
	resource string
	// scopes is what the server says it knows.
	scopes []string
	issuerMetadata
}

// issuerMetadata is the metadata of an authorization server (RFC 8414).
type issuerMetadata struct {
	name                           string
	authorize, token, registration string
	revocation                     string // of tokens (RFC 7009)
	methods, algorithms            []string
	challenges                     []string // of PKCE
	scopes                         []string
	proofs                         []string // signatures of proofs (RFC 9449)
	documents                      bool     // client id metadata documents
	signs                          bool     // names itself in answers (RFC 9207)
}

// newClient makes the client of a call, which follows few redirects: the call's
// grant decides about each of them.
func newClient(c *sallyport.Call, hops int) *http.Client {
	own := *c.Network.Client()
	own.CheckRedirect = func(_ *http.Request, via []*http.Request) error {
		if hops == 0 {
			return http.ErrUseLastResponse
		}
		if len(via) > hops {
			return fmt.Errorf("redirects more than %d times", hops)
		}
		return nil
	}
	return &own
}

// discover finds out who makes tokens for the server and where.
func (a *Authority) discover(ctx context.Context, c *sallyport.Call, said challenge) (discoveryResult, error) {
	out := newClient(c, maxHops)
	p, names, err := a.fetchResource(ctx, out, said)
	if err != nil {
		return discoveryResult{}, a.wrapFailure(err)
	}
	name, err := a.chooseIssuer(names)
	if err != nil {
		return discoveryResult{}, err
	}
	legacy := names == nil && a.Issuer == ""
	p.issuerMetadata, err = fetchMetadata(ctx, a.newIssuerClient(c), name, legacy)
	if errors.Is(err, errAbsent) && legacy {
		// Before 2025-06-18 a server was its own issuer, with fixed paths.
		p.issuerMetadata = issuerMetadata{
			name: name, authorize: name + "/authorize", token: name + "/token", registration: name + "/register",
			challenges: []string{"S256"},
		}
		err = nil
	}
	if err != nil {
		return discoveryResult{}, a.wrapFailure(fmt.Errorf("the metadata of its issuer %s: %w", clipQuote(name), err))
	}
	return p, nil
}

// fetchResource asks the server what protects it (RFC 9728). names is nil when it
// does not say.
func (a *Authority) fetchResource(ctx context.Context, client *http.Client, said challenge) (p discoveryResult, names []string, err error) {
	u, err := url.Parse(a.URL)
	if err != nil {
		return p, nil, err
	}
	root := originOf(a.URL)
	const known = "/.well-known/oauth-protected-resource"
	// Only the root of the host may speak for the whole host.
	tries := []struct{ at, is string }{
		{said.metadata, a.URL}, {root + known + strings.TrimSuffix(u.Path, "/"), a.URL}, {root + known, root},
	}
	for _, try := range tries {
		if try.at == "" || checkURL(try.at, isLoopbackURL(a.URL)) != nil {
			continue
		}
		d, err := fetchDocument(ctx, client, try.at)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return p, nil, fmt.Errorf("its metadata: %w", err)
		}
		p.resource, p.scopes, names = d.stringField("resource"), d.listField("scopes_supported"), d.listField("authorization_servers")
		same := sameResource(p.resource, try.is) || sameResource(p.resource, a.URL)
		switch {
		case d.err != nil:
			return p, nil, fmt.Errorf("its metadata: %w", d.err)
		case !same:
			return p, nil, fmt.Errorf("its metadata is of another resource, %s", clipQuote(p.resource))
		case len(names) == 0:
			return p, nil, errors.New("its metadata names no authorization server")
		case checkScopes(p.scopes) != nil:
			p.scopes = nil
		}
		return p, names, nil
	}
	p.resource = a.URL
	return p, nil, nil
}

// sameResource compares identifiers of resources, up to a slash at the end and
// the case of the host.
func sameResource(a, b string) bool {
	path := func(text string) string {
		u, err := url.Parse(text)
		if err != nil || u.User != nil || strings.Contains(text, "#") {
			return "\x00" + text
		}
		return strings.TrimSuffix(u.EscapedPath(), "/") + "?" + u.RawQuery
	}
	return originOf(a) == originOf(b) && path(a) == path(b)
}

// chooseIssuer returns the issuer to ask, of those that the server names.
func (a *Authority) chooseIssuer(names []string) (string, error) {
	switch {
	case a.Issuer == "" && names == nil:
		return originOf(a.URL), nil
	case a.Issuer == "":
		if err := checkURL(names[0], isLoopbackURL(a.URL)); err != nil {
			return "", a.newFault("its issuer %v", err)
		}
		return names[0], nil
	case names != nil && !slices.ContainsFunc(names, func(name string) bool { return sameIssuer(name, a.Issuer) }):
		return "", a.newFault("it names the issuer %s, and oauth.issuer is %s", clipQuote(names[0]), clipQuote(a.Issuer))
	default:
		return a.Issuer, nil
	}
}

// sameIssuer compares the names of issuers, up to one slash at the end.
func sameIssuer(a, b string) bool {
	return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// fetchMetadata fetches the metadata of an issuer, in the order that the protocol
// has: RFC 8414, then OpenID Connect, each with the path of the issuer.
func fetchMetadata(ctx context.Context, client *http.Client, name string, legacy bool) (issuerMetadata, error) {
	u, err := url.Parse(name)
	if err != nil {
		return issuerMetadata{}, err
	}
	root, path := originOf(name), strings.TrimSuffix(u.EscapedPath(), "/")
	tries := []string{root + "/.well-known/oauth-authorization-server" + path, root + "/.well-known/openid-configuration" + path}
	if path != "" {
		tries = append(tries, root+path+"/.well-known/openid-configuration")
	}
	for _, at := range tries {
		d, err := fetchDocument(ctx, client, at)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return issuerMetadata{}, err
		}
		return issuerOf(d, name, legacy)
	}
	return issuerMetadata{}, errAbsent
}

// issuerOf reads metadata and refuses what is of another issuer, or leads where
// no secret may go and no person either. A legacy server has the metadata of
// its issuer at its root, whatever path the issuer has on the same host.
func issuerOf(d *jsonDocument, name string, legacy bool) (issuerMetadata, error) {
	i := issuerMetadata{
		name: d.stringField("issuer"), authorize: d.stringField("authorization_endpoint"), token: d.stringField("token_endpoint"),
		registration: d.stringField("registration_endpoint"), revocation: d.stringField("revocation_endpoint"), methods: d.listField("token_endpoint_auth_methods_supported"),
		algorithms: d.listField("token_endpoint_auth_signing_alg_values_supported"),
		challenges: d.listField("code_challenge_methods_supported"), scopes: d.listField("scopes_supported"),
		proofs:    d.listField("dpop_signing_alg_values_supported"),
		documents: d.boolField("client_id_metadata_document_supported"),
		signs:     d.boolField("authorization_response_iss_parameter_supported"),
	}
	switch {
	case d.err != nil:
		return i, d.err
	case !sameIssuer(i.name, name) && (!legacy || originOf(i.name) != originOf(name)):
		return i, fmt.Errorf("it is of another issuer, %s", clipQuote(i.name))
	case i.token == "":
		return i, errors.New("it names no token_endpoint")
	}
	// An issuer elsewhere has no business with this machine.
	local := isLoopbackURL(name)
	for key, at := range map[string]string{"authorization": i.authorize, "token": i.token, "registration": i.registration} {
		if at == "" {
			continue
		}
		if err := checkURL(at, local); err != nil {
			return i, fmt.Errorf("%s_endpoint: %w", key, err)
		}
	}
	return i, nil
}
