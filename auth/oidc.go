package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// OIDCPrefix begins the name of every principal that an issuer names. A name
// of the configuration has no colon, so that none is like it.
const OIDCPrefix = "oidc:"

// oidcLeeway is how far the issuer's clock and ours may be apart. Machines
// that keep time at all are within a second or two.
const oidcLeeway = 30 * time.Second

// acceptedAlgorithms returns the signatures that may be accepted. The
// symmetric ones are not there: with them, a key that checks a token also makes
// one.
func acceptedAlgorithms() []string {
	return []string{
		oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
		oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
	}
}

// OIDCOptions say whose tokens are believed, and for what.
type OIDCOptions struct {
	// Issuer is the URL of the provider, exactly as its tokens write it: https,
	// or http on this machine's loopback.
	Issuer string
	// Audience is what aud of a token must be or contain: the id of this
	// server at the provider.
	Audience string
	// PermissionsClaim names the claim with the permissions: a list of texts,
	// or one text with spaces between them. A name with dots that is no claim
	// itself leads into objects, as realm_access.roles. Empty means that
	// tokens bring no permissions.
	PermissionsClaim string
	// PrincipalClaim names the claim with who it is; empty means sub. With
	// email the issuer must say that it verified the address.
	PrincipalClaim string
	// Algorithms lists the signatures that are accepted; none means RS256 and
	// ES256. Symmetric ones and none are refused.
	Algorithms []string
	// DefaultPermissions returns what every principal holds. It is asked at
	// each use, so that a change counts at once; nil means nothing.
	DefaultPermissions func() []string
	// Personalities returns the roles that such a principal may take: nil
	// means any, an empty list none. It is asked at each use, as
	// DefaultPermissions is; a nil function means any.
	Personalities func() []string
	// HTTPClient fetches the provider's documents; nil means one over
	// http.DefaultTransport. Size, time and redirects are bounded whatever it
	// allows.
	HTTPClient *http.Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger receives, at debug level, why a token was refused, and when keys
	// cannot be fetched; nil discards it. No token is written to it.
	Logger *slog.Logger
}

// OIDC believes the tokens of one OpenID Connect issuer. It implements
// [Tokens] and is safe for concurrent use.
type OIDC struct {
	o         OIDCOptions
	keys      *keySet
	client    *http.Client // within our bounds
	endpoints oidcEndpoints
}

// NewOIDC asks the issuer where its keys are. An issuer that does not answer,
// or that answers for another one, is an error.
func NewOIDC(ctx context.Context, o OIDCOptions) (*OIDC, error) {
	if err := o.fillDefaults(); err != nil {
		return nil, fmt.Errorf("auth: oidc: %w", err)
	}
	client := newFetchClient(o.HTTPClient, strings.HasPrefix(o.Issuer, "http:"))
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, client), fetchTime)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, o.Issuer)
	if err != nil {
		// The text may quote what the issuer answered.
		return nil, fmt.Errorf("auth: oidc: the issuer %s cannot be asked for its keys: %.300s", o.Issuer, err)
	}
	var found oidcEndpoints
	if err := provider.Claims(&found); err != nil || found.Keys == "" {
		return nil, fmt.Errorf("auth: oidc: the issuer %s names no jwks_uri", o.Issuer)
	}
	var pinned []jose.SignatureAlgorithm
	for _, a := range o.Algorithms {
		pinned = append(pinned, jose.SignatureAlgorithm(a))
	}
	k := &keySet{url: found.Keys, client: client, algorithms: pinned, now: o.Now, logger: o.Logger}
	if err := k.fetchKeys(ctx); err != nil {
		return nil, fmt.Errorf("auth: oidc: the keys of the issuer %s: %.300s", o.Issuer, err)
	}
	return &OIDC{o: o, keys: k, client: client, endpoints: found}, nil
}

// fillDefaults fills in defaults and reports everything that is wrong.
func (o *OIDCOptions) fillDefaults() error {
	faults := []error{checkIssuer(o.Issuer)}
	if o.Audience == "" {
		faults = append(faults, errors.New("audience is missing: any token of the issuer would do, whatever it was made for"))
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = []string{oidc.RS256, oidc.ES256}
	}
	for _, a := range o.Algorithms {
		if !slices.Contains(acceptedAlgorithms(), a) {
			faults = append(faults, fmt.Errorf("algorithms: %q: expected one of %s", text.ClipBytes(a, quotedBytes), strings.Join(acceptedAlgorithms(), ", ")))
		}
	}
	o.PrincipalClaim = cmp.Or(o.PrincipalClaim, "sub")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.DefaultPermissions == nil {
		o.DefaultPermissions = func() []string { return nil }
	}
	if o.Personalities == nil {
		o.Personalities = func() []string { return nil }
	}
	o.Algorithms = slices.Clone(o.Algorithms)
	return errors.Join(faults...)
}

func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("issuer %q: expected a URL such as https://login.example.com", text.ClipBytes(issuer, quotedBytes))
	case u.Scheme == "https", u.Scheme == "http" && Loopback(u.Hostname()):
		return nil
	default:
		return fmt.Errorf("issuer %q: expected https", text.ClipBytes(issuer, quotedBytes))
	}
}

// Principal implements [Tokens]. An error means that a key could not be
// fetched.
func (i *OIDC) Principal(ctx context.Context, token string) (p sallyport.Principal, ok bool, err error) {
	if strings.Count(token, ".") != 2 || !tokenText(token) {
		return p, false, nil
	}
	payload, err := i.keys.VerifySignature(ctx, token)
	if errors.Is(err, errNoKeys) {
		return p, false, fmt.Errorf("auth: oidc: %w", err)
	}
	if err == nil {
		p, err = i.checkClaims(ctx, token, payload)
	}
	if err != nil {
		i.o.Logger.DebugContext(ctx, "a token of an issuer was refused", "why", err)
		noteRefusal(ctx, "the token of the issuer: "+err.Error())
		return sallyport.Principal{}, false, nil
	}
	return p, true, nil
}

// checkClaims checks the claims of a token whose signature is good, with the
// library and then by our own stricter rules.
func (i *OIDC) checkClaims(ctx context.Context, token string, payload []byte) (p sallyport.Principal, err error) {
	library := oidc.NewVerifier(i.o.Issuer, verifiedPayload(payload), &oidc.Config{
		ClientID: i.o.Audience, SupportedSigningAlgs: i.o.Algorithms,
		SkipExpiryCheck: true, // its leeway is five minutes and only for nbf
	})
	if _, err := library.Verify(ctx, token); err != nil {
		return p, err
	}
	c, err := readClaims(payload)
	if err != nil {
		return p, err
	}
	if err := errors.Join(c.checkParties(i.o.Issuer, i.o.Audience), c.checkTimes(i.o.Now())); err != nil {
		return p, err
	}
	name, err := c.readName(i.o.PrincipalClaim)
	if err != nil {
		return p, err
	}
	held, err := c.readPermissions(i.o.PermissionsClaim)
	if err != nil {
		return p, err
	}
	return sallyport.Principal{
		Name: OIDCPrefix + name, Permissions: unionOf(i.o.DefaultPermissions(), held),
		Personalities: slices.Clone(i.o.Personalities()),
	}, nil
}

// verifiedPayload is the payload of a token whose signature was verified
// before.
type verifiedPayload []byte

func (s verifiedPayload) VerifySignature(context.Context, string) ([]byte, error) { return s, nil }
