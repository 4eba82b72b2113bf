package auth

import (
	"errors"
	"net/http"
)

// guardedPages is what a guard knows of the pages that people look at in a browser. A nil
// one has none.
type guardedPages struct {
	covers func(r *http.Request) bool
	cookie string
	people Tokens
	signIn http.Handler
	// returns is as GuardOptions has it; it may be nil.
	returns func(r *http.Request) bool
}

// newPages returns the pages of the options, nil when they name none.
func (o *GuardOptions) newPages() (*guardedPages, error) {
	switch {
	case o.Pages == nil:
		return nil, nil
	case o.Cookie == "" || o.People == nil:
		return nil, errors.New("auth: pages need a cookie, and who is signed in")
	}
	return &guardedPages{o.Pages, o.Cookie, o.People, o.SignIn, o.Returns}, nil
}

// hasRequest reports whether a request is for a page.
func (p *guardedPages) hasRequest(r *http.Request) bool { return p != nil && p.covers(r) }

// isReturn reports whether a request comes from the login at another site, which leads the
// whole window of a browser back here. No form, frame or script of that site does that.
func (p *guardedPages) isReturn(r *http.Request) bool {
	return p.hasRequest(r) && p.returns != nil && p.returns(r) && r.Method == http.MethodGet &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// tokenOf returns the token in the cookie of a request; "" when there is none, or more than
// one: another program on this machine may have set the other.
func (p *guardedPages) tokenOf(r *http.Request) string {
	found := r.CookiesNamed(p.cookie)
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}

// hasLogin reports whether a request comes with something that is to let it in.
func (p *guardedPages) hasLogin(r *http.Request) bool {
	return len(r.CookiesNamed(p.cookie)) > 0 || len(r.Header.Values("Authorization")) > 0
}

// refuseForm returns what is wrong with a request that sends a form, as refusalOf does. A
// browser says where a form comes from; what does not say so is no browser.
func (p *guardedPages) refuseForm(r *http.Request, kind string) (status int, why string) {
	if kind != "application/x-www-form-urlencoded" || r.Header.Get("Content-Encoding") != "" {
		return http.StatusUnsupportedMediaType, "the content type must be application/x-www-form-urlencoded"
	}
	if len(r.Header.Values("Origin")) == 0 {
		return http.StatusForbidden, "the request does not say which site it comes from"
	}
	return 0, ""
}
