package oauth

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/text"
)

// Grant says how tokens come into being.
type Grant string

// The grants.
const (
	// AuthorizationCode is a person's consent, given once by a login.
	AuthorizationCode Grant = "authorization_code"
	// ClientCredentials is the gate's own account at the issuer.
	ClientCredentials Grant = "client_credentials"
	// JWTBearer is what another issuer says about the caller: the identity of a
	// workload, or of a person whose identity provider vouches for them.
	JWTBearer Grant = "jwt_bearer"
)

// Valid reports whether g is one of the grants.
func (g Grant) Valid() bool {
	switch g {
	case AuthorizationCode, ClientCredentials, JWTBearer:
		return true
	default:
		return false
	}
}

// Bounds of what others say. Real scopes, metadata and tokens stay far below.
const (
	maxScopes   = 64
	maxURL      = 2 << 10
	maxToken    = 16 << 10
	maxDocument = 256 << 10
)

// Server says how one server is authorized at.
type Server struct {
	// Name is what the operator calls the server.
	Name string
	// URL is where it listens.
	URL string
	// Grant is how tokens come into being; empty means AuthorizationCode.
	Grant Grant
	// ClientID is the gate's name at the issuer; empty needs Register or
	// Document.
	ClientID string
	// ClientSecret is the reference of its secret there; empty means none.
	ClientSecret string
	// PrivateKey is the reference of a key in PEM with which the gate proves
	// who it is (private_key_jwt); empty means none.
	PrivateKey string
	// Document is the URL of a client id metadata document, which is the
	// gate's name at issuers that take one; empty means none.
	Document string
	// Register lets a login register the gate at the issuer when there is no
	// other name.
	Register bool
	// Assertion is the reference of a signed statement (a JWT) with which
	// JWTBearer gets tokens: of a workload, or with Provider the ID token of a
	// person. It is read anew for each token.
	Assertion string
	// Provider is the identity provider that makes of Assertion a statement for
	// the issuer; nil sends Assertion as it is.
	Provider *Provider
	// Scopes is what tokens are asked for, and no more than that; nil means
	// what the server says that it wants.
	Scopes []string
	// Issuer is the one issuer that is believed; empty believes the first that
	// the server names, which is refused beside ClientSecret, PrivateKey and
	// Assertion: these go to the issuer that the operator wrote.
	Issuer string
	// TokenEndpoint is where the issuer makes tokens, for an issuer whose
	// endpoints have another origin than itself; empty means none, and then
	// ClientSecret, PrivateKey and Assertion go to the issuer's origin only.
	TokenEndpoint string `json:",omitempty"`
}

// Provider is an identity provider that vouches for people at the issuers of
// servers.
type Provider struct {
	// Issuer is its URL.
	Issuer string
	// ClientID is the gate's name there, ClientSecret the reference of its
	// secret; empty means none.
	ClientID, ClientSecret string
	// TokenEndpoint is that of [Server], for this provider.
	TokenEndpoint string `json:",omitempty"`
}

// Refs lists the secrets that calls of the server read: those of the
// declaration, and its tokens.
func (s *Server) Refs() []string {
	named := []string{s.ClientSecret, s.PrivateKey, s.Assertion}
	if s.Provider != nil {
		named = append(named, s.Provider.ClientSecret)
	}
	named = slices.DeleteFunc(named, func(ref string) bool { return ref == "" })
	return append(named, refPrefix+s.Name+"/*")
}

// Hosts lists the hosts that are granted by being written.
func (s *Server) Hosts() (hosts []string) {
	written := []string{s.Issuer, s.TokenEndpoint}
	if s.Provider != nil {
		written = append(written, s.Provider.Issuer, s.Provider.TokenEndpoint)
	}
	for _, text := range written {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			hosts = append(hosts, u.Host)
		}
	}
	return hosts
}

// Check returns everything that is wrong with a declaration.
func (s *Server) Check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	switch {
	case s.Grant != "" && !s.Grant.Valid():
		fault("grant: expected %s, %s or %s", AuthorizationCode, ClientCredentials, JWTBearer)
	case s.Grant == JWTBearer && (s.ClientID == "" || s.Assertion == ""):
		fault("grant: jwt_bearer needs client_id and assertion_secret")
	case s.Grant == ClientCredentials && (s.ClientID == "" || s.ClientSecret == "" && s.PrivateKey == ""):
		fault("grant: client_credentials needs client_id and either client_secret_secret or private_key_secret")
	case s.ClientID == "" && s.Document == "" && !s.Register:
		fault("client_id: expected the name of this client at the issuer, or client_metadata_url, or register: true")
	}
	if s.Grant != JWTBearer && (s.Assertion != "" || s.Provider != nil) {
		fault("assertion_secret and identity_provider belong to grant: jwt_bearer")
	}
	if p := s.Provider; p != nil && (p.ClientID == "" || checkURL(p.Issuer, true) != nil) {
		fault("identity_provider: expected {issuer: URL, client_id: NAME}")
	}
	if s.ClientSecret != "" && s.PrivateKey != "" {
		fault("client_secret_secret and private_key_secret exclude each other")
	}
	if s.ClientID == "" && (s.ClientSecret != "" || s.PrivateKey != "") {
		fault("client_id: a secret belongs to a client")
	}
	if u, err := url.Parse(s.Document); s.Document != "" && (err != nil || checkURL(s.Document, false) != nil || len(u.Path) < 2) {
		fault("client_metadata_url: expected an https address with a path")
	}
	if keys := s.listCredentials(); len(keys) > 0 && s.Issuer == "" {
		fault("issuer: expected beside %s the address of the issuer that gets it, such as https://login.example.com: else the server would name who does", strings.Join(keys, " and "))
	}
	if err := s.checkEndpoints(); err != nil {
		fault("%v", err)
	}
	if s.Issuer != "" && checkURL(s.Issuer, true) != nil {
		fault("issuer: expected an address such as https://login.example.com")
	}
	if err := checkScopes(s.Scopes); err != nil {
		fault("scopes: %v", err)
	}
	return errors.Join(faults...)
}

// recordName returns the name under which the tokens of a principal are kept.
// What would make them another client's or another server's is part of it.
func (s *Server) recordName(who string) string {
	h := sha256.New()
	for _, part := range []string{s.URL, s.Issuer, s.ClientID, s.Document, string(cmp.Or(s.Grant, AuthorizationCode)), s.Assertion, who} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return refPrefix + s.Name + "/" + hex.EncodeToString(h.Sum(nil)[:16])
}

// checkURL refuses what is no address to send anything to, or to show to a
// person: https, or http on this machine where local says so.
func checkURL(text string, local bool) error {
	u, err := url.Parse(text)
	plain := !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
	switch {
	case err != nil || !plain || len(text) > maxURL || u.Host == "" || u.User != nil || strings.Contains(text, "#"):
		return fmt.Errorf("%s is no address", clipQuote(text))
	case u.Scheme == "https", u.Scheme == "http" && local && auth.Loopback(u.Hostname()):
		return nil
	default:
		return fmt.Errorf("%s: expected https", clipQuote(text))
	}
}

// isLoopbackURL reports whether an address is of this machine.
func isLoopbackURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && auth.Loopback(u.Hostname())
}

// originOf returns the scheme and host of an address.
func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// checkScopes refuses what is no list of scopes (RFC 6749, section 3.3).
func checkScopes(scopes []string) error {
	if len(scopes) > maxScopes {
		return fmt.Errorf("more than %d", maxScopes)
	}
	for _, s := range scopes {
		if s == "" || len(s) > 256 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }) {
			return fmt.Errorf("%s is no scope", clipQuote(s))
		}
	}
	return nil
}

// unionScopes returns both lists, each scope once, in order.
func unionScopes(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// missingScopes lists what of a is not in b.
func missingScopes(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// clipQuote quotes and shortens a text of another party, for a message.
func clipQuote(s string) string {
	return fmt.Sprintf("%+q", text.ClipBytes(s, 120))
}

// ErrLogin is matched by errors of calls that need a person to log in first.
var ErrLogin = errors.New("oauth: a login is missing")

func (s *Server) newFault(format string, args ...any) error {
	return sallyport.Err("the MCP server "+s.Name+": "+fmt.Sprintf(format, args...), "").Err()
}

// newLoginFault makes the failure of a call that needs a login.
func (s *Server) newLoginFault(format string, args ...any) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Err: ErrLogin,
		Detail: "the MCP server " + s.Name + " " + fmt.Sprintf(format, args...) + ": run sallyport login " + s.Name,
	}
}
