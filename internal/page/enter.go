package page

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/signin"
)

// maxToken bounds a token that a person enters, in bytes.
const maxToken = 512

// The answers to a sign-in that is refused. The first is the same for every cause.
const (
	tokenRefused = "This token does not open the page."
	tooManyTries = "Too many tries: wait a minute."
	notNow       = "Signing in is not possible now: see the log of the server."
)

// takeToken signs in who has a token of a principal that may look at the page. What is kept
// and recorded is the principal, and the hash of the token.
func (s *Site) takeToken(w http.ResponseWriter, r *http.Request, token string) {
	if wait, ok := s.tries.AdmitTry(r.RemoteAddr); !ok {
		s.refuseTry(w, r, wait)
		return
	}
	if len(token) > maxToken {
		token = "" // which no principal has
	}
	entry, err := s.book.FindTokenEntry(r.Context(), auth.HashToken(token))
	if err == nil {
		err = s.beginSignIn(w, r, entry, r.TLS != nil)
	}
	switch {
	case err == nil:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case errors.Is(err, signin.ErrToken):
		s.showWays(w, r, http.StatusUnauthorized, tokenRefused)
	default:
		s.failSignIn(w, r, err)
	}
}

// beginSignIn begins a sign-in and sets its cookie. The sign-in is recorded before it counts.
func (s *Site) beginSignIn(w http.ResponseWriter, r *http.Request, entry *signin.Entry, secure bool) error {
	e := app.ChangeEvent(actionSignIn, entry.Name(), string(entry.Way()))
	e.Principal = entry.Name()
	return s.rt.RecordFirst(r.Context(), e, func() error {
		token, in, err := s.book.EnterPage(r.Context(), entry)
		if err != nil {
			return err
		}
		setCookie(w, token, int(time.Until(in.Expires)/time.Second), secure)
		return nil
	})
}

// refuseTry answers a try to sign in that came too soon after others.
func (s *Site) refuseTry(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
	s.showWays(w, r, http.StatusTooManyRequests, tooManyTries)
}

// failSignIn answers a sign-in that the server could not carry out.
func (s *Site) failSignIn(w http.ResponseWriter, r *http.Request, err error) {
	s.rt.Logger.Error("a person cannot sign in", "error", err)
	s.showWays(w, r, http.StatusServiceUnavailable, notNow)
}

// showWays shows in which ways a person signs in, and why the last try did not.
func (s *Site) showWays(w http.ResponseWriter, r *http.Request, status int, refused string) {
	s.showPart(w, r, status, "signin", frame{Title: "Sign in", Said: cleanText(refused), Bad: true, Body: signInBody{Issuer: s.describeIssuer()}})
}
