package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/signin"
)

// The actions of people at the page, as they are recorded.
const (
	actionLink    audit.Action = "page.link"
	actionSignIn  audit.Action = "page.sign-in"
	actionSignOut audit.Action = "page.sign-out"
)

// NewBook returns who is signed in at the page of a state.
func NewBook(rt *app.Runtime) *signin.Book {
	return signin.New(signin.Options{
		Settings: rt.Settings, NewToken: auth.NewToken, Holder: rt.Callers.FindHolder,
		Trusts: func(issuer string) bool { return trustsIssuer(rt, issuer) },
		Stopped: func(ctx context.Context, name string) (bool, error) {
			// When everything is stopped, a person must still be able to start it again.
			thrown, err := rt.Switches.All(ctx)
			return slices.ContainsFunc(thrown, func(s auth.Switch) bool { return s.Kind == auth.SwitchPrincipal && s.Name == name }), err
		},
	})
}

// Link is a link that signs a person in once.
type Link struct {
	// URL is where a browser signs in; its beginning is as it was given, or that of the
	// server.
	URL string `json:"url"`
	// Name is the principal of the sign-in.
	Name string `json:"name"`
	// Permissions is what the person may do.
	Permissions []string `json:"permissions"`
	// Expires is when the link ends.
	Expires time.Time `json:"expires"`
}

// NewLink makes a link for a person and records that. An empty base means the address
// of the configuration, or that at which a server of the state serves.
func NewLink(ctx context.Context, rt *app.Runtime, who signin.Person, base string) (*Link, error) {
	if base == "" {
		var err error
		if base, err = rt.PageURL(ctx); err != nil {
			return nil, err
		}
		if base == "" {
			return nil, errors.New("no server serves the page of this state: start sallyport serve, or give --url")
		}
	}
	link := &Link{Name: who.Name, Permissions: who.Permissions}
	err := rt.RecordFirst(ctx, app.ChangeEvent(actionLink, who.Name, ""), func() error {
		code, expires, err := NewBook(rt).NewLink(ctx, who)
		link.URL, link.Expires = base+signInPath+"?code="+code, expires
		return err
	})
	if err != nil {
		return nil, err
	}
	return link, nil
}

// EndSignIns ends the sign-ins and links of a person, of all people without a name, and
// records that. A name is that of a link, without its prefix, and of the principal of a
// token; one with the prefix of an issuer is as it is.
func EndSignIns(ctx context.Context, rt *app.Runtime, name string) (n int, err error) {
	var names []string
	target := cmp.Or(name, "all people")
	switch {
	case strings.HasPrefix(name, auth.OIDCPrefix):
		names = []string{name}
	case name != "":
		names = []string{name, signin.Prefix + name}
	}
	if n, err = NewBook(rt).EndAll(ctx, names...); err != nil {
		return n, err
	}
	if err := rt.EndYeses(ctx, names...); err != nil {
		return n, err
	}
	return n, rt.RecordDone(ctx, app.ChangeEvent(actionSignOut, target, ""), "")
}

// Announce says in the state at which address the page is served, until stop is called.
func Announce(ctx context.Context, rt *app.Runtime, address string) (stop func(), err error) {
	ctx = context.WithoutCancel(ctx) // a server that ends at once ends in order
	if err := rt.Settings.Put(ctx, signin.AddressSetting, address); err != nil {
		return nil, err
	}
	return func() {
		if now, _, err := rt.Settings.Get(ctx, signin.AddressSetting); err == nil && now == address {
			_ = rt.Settings.Delete(ctx, signin.AddressSetting)
		}
	}, nil
}

// signInBody is what the page for signing in shows.
type signInBody struct {
	Code   string
	Name   string
	Issuer string // where people sign in through an OpenID provider
}

// signIn shows who signs in by a link, and signs in when the person says so. A link that
// a program only looks at is not used up.
func (s *Site) signIn(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("code")
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if code = r.PostFormValue("code"); r.PostForm.Has("token") && r.URL.Path == signInPath {
			s.takeToken(w, r, strings.TrimSpace(r.PostForm.Get("token")))
			return
		}
	}
	// The cookie of a sign-in does not come along from another site: a page that goes on
	// by itself brings it.
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" && leadsOn(r.URL.Path) {
		s.showPart(w, r, http.StatusOK, "onward", frame{Title: "Sallyport", Onward: r.URL.EscapedPath()})
		return
	}
	if r.URL.Path != signInPath || code == "" {
		s.showWays(w, r, http.StatusUnauthorized, "")
		return
	}
	who, err := s.book.Peek(r.Context(), code)
	if err == nil && r.Method == http.MethodPost {
		if err = s.redeemLink(w, r, code); err == nil {
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
	}
	if err != nil {
		if errors.Is(err, signin.ErrLink) {
			s.showWays(w, r, http.StatusUnauthorized, "This link was used before, or is too old.")
		} else {
			s.failSignIn(w, r, err)
		}
		return
	}
	s.showPart(w, r, http.StatusOK, "signin", frame{Title: "Sign in", Body: signInBody{Code: code, Name: who.Name}})
}

// redeemLink signs in and sets the cookie. The sign-in is recorded before it counts.
func (s *Site) redeemLink(w http.ResponseWriter, r *http.Request, code string) error {
	who, err := s.book.Peek(r.Context(), code)
	if err != nil {
		return err
	}
	e := app.ChangeEvent(actionSignIn, who.Name, string(signin.WayLink))
	e.Principal = who.Name
	return s.rt.RecordFirst(r.Context(), e, func() error {
		token, in, err := s.book.Redeem(r.Context(), code)
		if err != nil {
			return err
		}
		setCookie(w, token, int(time.Until(in.Expires)/time.Second), r.TLS != nil)
		return nil
	})
}

func setCookie(w http.ResponseWriter, token string, seconds int, secure bool) {
	http.SetCookie(w, &http.Cookie{
		Name: Cookie, Value: token, Path: "/", MaxAge: seconds,
		Secure: secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

func (s *Site) signOut(w http.ResponseWriter, r *http.Request) {
	p, _ := auth.PrincipalFrom(r.Context())
	if err := s.book.End(r.Context(), tokenOf(r)); err != nil {
		s.refuseRequest(w, r, http.StatusServiceUnavailable, "You are still signed in: the state cannot be written.")
		return
	}
	e := app.ChangeEvent(actionSignOut, p.Name, "")
	e.Principal = p.Name
	if err := s.rt.RecordDone(r.Context(), e, ""); err != nil {
		s.rt.Logger.Error("a sign-out is not recorded", "error", err)
	}
	setCookie(w, "", -1, r.TLS != nil)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
