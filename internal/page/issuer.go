package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/signin"
)

const (
	// loginPath sends a person to the issuer, which leads back to returnPath.
	loginPath  = "/page/oidc"
	returnPath = "/page/oidc/return"
	// LoginCookie is the name of the cookie with a login that a person has begun. Unlike
	// that of a sign-in it comes along when the issuer leads back, from its site.
	LoginCookie = "sallyport_login"
	// maxCode bounds what an issuer sends back, in bytes.
	maxCode = 4096
)

// issuer is where people sign in at the page through an OpenID provider.
type issuer struct {
	*auth.OIDC
	said   config.OIDC
	client oauth2.Config // without its secret
	flows  *signin.Flows
}

// issuerOf names the issuer and the client of a sign-in; "" when people do not sign in so.
func issuerOf(o *config.OIDC) string {
	if o == nil || o.Page == nil {
		return ""
	}
	return o.Issuer + " " + o.Page.ClientID
}

// AddIssuer asks the issuer of the configuration where people log in, when they sign in at
// the page through it. It is called before the page is served.
func (s *Site) AddIssuer(ctx context.Context) error {
	o := s.live.InForce().Config.Security.OIDC
	if issuerOf(o) == "" {
		return nil
	}
	believed, err := auth.NewOIDC(ctx, auth.OIDCOptions{
		Issuer: o.Issuer, Audience: o.Page.ClientID, PermissionsClaim: o.Page.PermissionsClaim, PrincipalClaim: o.PrincipalClaim,
		Algorithms: o.Algorithms, Personalities: func() []string { return []string{} }, Logger: s.rt.Logger,
	})
	if err != nil {
		return err
	}
	at, err := believed.LoginEndpoint(o.Page.ClientSecret != "")
	if err != nil {
		return err
	}
	flows, err := signin.NewFlows(nil)
	if err != nil {
		return err
	}
	s.issuer = &issuer{believed, *o, oauth2.Config{
		ClientID: o.Page.ClientID, Endpoint: at, RedirectURL: o.Page.URL + returnPath,
		Scopes: append([]string{oidc.ScopeOpenID}, o.Page.Scopes...),
	}, flows}
	return nil
}

// Returns reports whether a link at another site may lead here, for [auth.GuardOptions]:
// that of an issuer, and those in notices and of sallyport page.
func Returns(r *http.Request) bool {
	return r.URL.Path == returnPath || r.URL.Path == signInPath || leadsOn(r.URL.Path)
}

// leadsOn reports whether a path is one to which notices lead.
func leadsOn(path string) bool { return path == "/" || strings.HasPrefix(path, "/page/calls/") }

// issuerInForce returns the issuer through which people sign in now, or nil: one that the
// configuration does not name any more is none.
func (s *Site) issuerInForce() *issuer {
	if s.issuer == nil || issuerOf(s.live.InForce().Config.Security.OIDC) != issuerOf(&s.issuer.said) {
		return nil
	}
	return s.issuer
}

// isSecure reports whether people reach the page over TLS, of a proxy before it too.
func (i *issuer) isSecure() bool { return strings.HasPrefix(i.said.Page.URL, "https:") }

// beginLogin sends a person to the issuer. What has to come back is kept in the browser.
func (s *Site) beginLogin(w http.ResponseWriter, r *http.Request) {
	i := s.issuerInForce()
	if i == nil || r.Method != http.MethodGet {
		s.showWays(w, r, http.StatusUnauthorized, "")
		return
	}
	flow, sealed, err := i.flows.BeginFlow()
	if err != nil {
		s.failSignIn(w, r, err)
		return
	}
	setLogin(w, sealed, int(signin.FlowLife.Seconds()), i.isSecure())
	http.Redirect(w, r, i.client.AuthCodeURL(flow.State, oauth2.S256ChallengeOption(flow.Verifier), oidc.Nonce(flow.Nonce)), http.StatusSeeOther)
}

func setLogin(w http.ResponseWriter, sealed string, seconds int, secure bool) {
	http.SetCookie(w, &http.Cookie{
		Name: LoginCookie, Value: sealed, Path: loginPath, MaxAge: seconds,
		Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// finishLogin signs in who comes back from the issuer, in the browser that went there. The
// cookie of the sign-in does not come along from another site, so that the answer is a page
// that goes on.
func (s *Site) finishLogin(w http.ResponseWriter, r *http.Request) {
	i := s.issuerInForce()
	if i == nil || r.Method != http.MethodGet {
		s.showWays(w, r, http.StatusUnauthorized, "")
		return
	}
	if wait, ok := s.tries.AdmitTry(r.RemoteAddr); !ok {
		s.refuseTry(w, r, wait)
		return
	}
	q := r.URL.Query()
	flow, err := i.takeFlow(r, q)
	if err != nil {
		s.showWays(w, r, http.StatusUnauthorized, "This login did not begin in this browser, took longer than ten minutes, or was used before. Begin again at "+i.said.Page.URL+"/")
		return
	}
	setLogin(w, "", -1, i.isSecure())
	who, err := s.askIssuer(r.Context(), i, flow, q)
	if err != nil {
		s.rt.Logger.WarnContext(r.Context(), "a person did not sign in through the issuer", "why", cleanText(err.Error()), "remote", r.RemoteAddr)
		s.showWays(w, r, http.StatusUnauthorized, "The provider did not sign you in: "+err.Error())
		return
	}
	entry, err := s.book.FindIssuerEntry(r.Context(), &who, issuerOf(&i.said))
	if err == nil {
		err = s.beginSignIn(w, r, entry, i.isSecure())
	}
	switch {
	case err == nil:
		s.showPart(w, r, http.StatusOK, "signedin", frame{Title: "Signed in", Onward: "/", Body: signInBody{Name: cleanText(who.Name)}})
	case errors.Is(err, signin.ErrReads):
		s.showWays(w, r, http.StatusForbidden, who.Name+" may not look at this page: the claim "+i.said.Page.PermissionsClaim+" of the provider does not hold "+signin.PermissionRead+".")
	case errors.Is(err, signin.ErrToken):
		s.showWays(w, r, http.StatusForbidden, who.Name+" is stopped, or the provider is not trusted any more.")
	default:
		s.failSignIn(w, r, err)
	}
}

// takeFlow returns the login to which an issuer returned a person.
func (i *issuer) takeFlow(r *http.Request, q url.Values) (*signin.Flow, error) {
	kept := r.CookiesNamed(LoginCookie)
	if len(kept) != 1 || len(q["state"]) != 1 || len(q["code"]) > 1 || len(q["iss"]) > 1 {
		return nil, signin.ErrFlow // another program on this machine may have set the other
	}
	return i.flows.TakeFlow(kept[0].Value, q.Get("state"))
}

// askIssuer returns who an issuer says has come back. What an error says may be shown when it
// is clean.
func (s *Site) askIssuer(ctx context.Context, i *issuer, flow *signin.Flow, q url.Values) (who sallyport.Principal, err error) {
	if said := q.Get("iss"); said != "" && said != i.said.Issuer { // RFC 9207
		return who, errors.New("the answer is of another issuer")
	}
	if code := q.Get("error"); code != "" {
		return who, errors.New(strings.TrimSpace(code + " " + q.Get("error_description")))
	}
	if len(q.Get("code")) > maxCode {
		return who, errors.New("the code is too long")
	}
	client := i.client
	if ref := i.said.Page.ClientSecret; ref != "" {
		secret, err := s.rt.ReadSecret(ctx, ref)
		if err != nil {
			s.rt.Logger.ErrorContext(ctx, "the client secret of the page cannot be read", "secret", ref, "error", err)
			return who, errors.New("the server has no client secret: see its log")
		}
		client.ClientSecret = secret.Reveal()
	}
	who, err = i.RedeemLogin(ctx, &client, q.Get("code"), flow.Verifier, flow.Nonce)
	who.Person = err == nil
	return who, err
}

// trustsIssuer reports whether the configuration in force lets people sign in through an
// issuer, as issuerOf names it.
func trustsIssuer(rt *app.Runtime, name string) bool {
	return name != "" && name == issuerOf(rt.InForce().Config.Security.OIDC)
}

// describeIssuer returns the host at which people log in; "" when they do not.
func (s *Site) describeIssuer() string {
	i := s.issuerInForce()
	if i == nil {
		return ""
	}
	u, err := url.Parse(i.said.Issuer)
	if err != nil {
		return ""
	}
	return cmp.Or(cleanText(u.Host), "the provider")
}
