package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

// early is how long before its end a token is renewed: longer than a request
// takes to arrive.
const early = 10 * time.Second

// Authority sends requests to one server with the tokens of principals. It is
// safe for concurrent use.
type Authority struct {
	Server
	vault *Vault
	now   func() time.Time

	mu       sync.Mutex
	renewals map[string]chan struct{} // one renews, the others wait
	// nonces are what hosts want in proofs next.
	nonces map[string]string
}

// New returns the authority of a server over a vault.
func New(s Server, v *Vault) (*Authority, error) {
	if v == nil {
		return nil, errors.New("oauth: a server needs a vault")
	}
	s.Grant = cmp.Or(s.Grant, AuthorizationCode)
	if err := s.Check(); err != nil {
		return nil, err
	}
	return &Authority{Server: s, vault: v, now: time.Now, renewals: map[string]chan struct{}{}, nonces: map[string]string{}}, nil
}

// Do sends a request to the server with a token of the principal who, when
// there is one. A token that has ended is renewed, once; a server that wants
// more gets a wider one when no person has to consent. The error matches
// [ErrLogin] when a person has to log in.
func (a *Authority) Do(r *http.Request, c *sallyport.Call, who string) (*http.Response, error) {
	ctx := r.Context()
	if r.Body != nil {
		defer r.Body.Close()
	}
	held, err := a.tokenFor(ctx, c, who)
	if err != nil {
		return nil, err
	}
	for renewed, widened := false, false; ; {
		resp, err := a.sendWithProof(r, c, held)
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		said := challengeOf(resp)
		if resp.StatusCode == http.StatusForbidden && !said.lacking || !a.isFromServer(resp) {
			return resp, nil
		}
		// The connection can be used again when the answer was read.
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10))
		resp.Body.Close()
		switch lacks := resp.StatusCode == http.StatusForbidden; {
		case lacks && !widened:
			widened = true
			held, err = a.widenScopes(ctx, c, who, held.token, said)
		case !lacks && !renewed:
			renewed = true
			held, err = a.renewToken(ctx, c, who, held.token, said)
		default:
			return nil, a.newFault("it refuses a token that was just made for it, with %d", resp.StatusCode)
		}
		if err != nil {
			return nil, err
		}
	}
}

// isFromServer reports whether an answer is the server's, and not of another host to which
// it redirected.
func (a *Authority) isFromServer(resp *http.Response) bool {
	return resp.Request != nil && originOf(resp.Request.URL.String()) == originOf(a.URL)
}

// sendWithProof sends a copy of a request, and another one when the server wants its nonce
// in the proof.
func (a *Authority) sendWithProof(r *http.Request, c *sallyport.Call, held tokenWithKey) (*http.Response, error) {
	resp, err := a.sendOnce(r, c, held)
	if err != nil || held.key == nil || !a.isFromServer(resp) || !a.rememberNonce(a.URL, resp) {
		return resp, err
	}
	if resp.StatusCode != http.StatusUnauthorized || !challengeOf(resp).nonce {
		return resp, nil
	}
	resp.Body.Close()
	return a.sendOnce(r, c, held)
}

func (a *Authority) sendOnce(r *http.Request, c *sallyport.Call, held tokenWithKey) (*http.Response, error) {
	q := r.Clone(r.Context())
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		q.Body = body
	}
	switch here := originOf(q.URL.String()) == originOf(a.URL); {
	case held.token == "" || !here:
	case held.key == nil:
		q.Header.Set("Authorization", "Bearer "+held.token)
	default:
		q.Header.Set("Authorization", "DPoP "+held.token)
		if err := a.addProof(q.Header, held.key, q.Method, q.URL.String(), held.token); err != nil {
			return nil, err
		}
	}
	return AtHome(c.Network.Client(), a.Name, a.URL).Do(q)
}

// AtHome returns a copy of a client that follows the redirects of a server to
// its own origin only: a host that it names elsewhere would get the arguments of a
// call, and answer in its place. The error is a [sallyport.Error].
func AtHome(client *http.Client, server, home string) *http.Client {
	own := *client
	check := client.CheckRedirect
	own.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if to := r.URL.String(); originOf(to) != originOf(home) {
			return &sallyport.Error{
				Code: sallyport.CodeHostNotAllowed, Resource: r.URL.Host,
				Detail: fmt.Sprintf("the MCP server %s redirects to %s, which is not where it was declared", server, clipQuote(originOf(to))),
			}
		}
		if check == nil {
			return nil
		}
		return check(r, via)
	}
	return &own
}

// lockRenewal acquires the lock under which these tokens are renewed.
func (a *Authority) lockRenewal(ctx context.Context, name string) (done func(), err error) {
	a.mu.Lock()
	t, ok := a.renewals[name]
	if !ok {
		t = make(chan struct{}, 1)
		a.renewals[name] = t
	}
	a.mu.Unlock()
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tokenFor returns the token of a principal, "" when there is none. One that
// ends soon is renewed.
func (a *Authority) tokenFor(ctx context.Context, c *sallyport.Call, who string) (tokenWithKey, error) {
	t, err := a.vault.loadTokens(ctx, a.recordName(who))
	if err != nil {
		return tokenWithKey{}, err
	}
	if t.Access != "" && t.Refresh != "" && !t.Expires.IsZero() && !a.now().Add(early).Before(t.Expires) {
		return a.renewToken(ctx, c, who, t.Access, challenge{})
	}
	return t.withKey(), a.vault.giveToken(ctx, c, a.Name, "access", t.Access)
}

// renewToken makes another token in place of the one that the server refused.
func (a *Authority) renewToken(ctx context.Context, c *sallyport.Call, who, refused string, said challenge) (tokenWithKey, error) {
	return a.changeTokens(ctx, c, who, func(t *tokens) error {
		switch {
		case t.Access != "" && t.Access != refused:
			return nil // another call has renewed it
		case a.Grant != AuthorizationCode:
			return a.requestGrant(ctx, c, t, said, said.scopes)
		case t.Refresh == "":
			t.Access = ""
			if len(said.scopes) > 0 {
				t.Wanted = said.scopes
			}
			if refused == "" {
				return a.newLoginFault("wants a login of %s", principalName(who))
			}
			return a.newLoginFault("does not take the token of %s any more", principalName(who))
		}
		return a.refreshToken(ctx, c, t, who)
	})
}

// refreshToken exchanges the refresh token, at the issuer that made it.
func (a *Authority) refreshToken(ctx context.Context, c *sallyport.Call, t *tokens, who string) error {
	for kind, value := range map[string]string{"refresh": t.Refresh, "client": t.ClientSecret} {
		if err := a.vault.giveToken(ctx, c, a.Name, kind, value); err != nil {
			return err
		}
	}
	err := a.requestTokens(ctx, c, t, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {t.Refresh}})
	if _, refused := errors.AsType[*grantRefusal](err); refused {
		t.Access, t.Refresh = "", ""
		return a.newLoginFault("has no token for %s any more: its issuer refuses to renew it", principalName(who))
	}
	return a.wrapFailure(err)
}

// widenScopes gets a token for what the server says that it lacks.
func (a *Authority) widenScopes(ctx context.Context, c *sallyport.Call, who, lacking string, said challenge) (tokenWithKey, error) {
	if more := missingScopes(said.scopes, a.Scopes); a.Scopes != nil && len(more) > 0 {
		return tokenWithKey{}, a.newFault("it wants the scope %s, which oauth.scopes does not list", clipQuote(strings.Join(more, " ")))
	}
	return a.changeTokens(ctx, c, who, func(t *tokens) error {
		all := unionScopes(t.Scopes, said.scopes)
		switch {
		case t.Access != "" && t.Access != lacking:
			return nil
		case len(said.scopes) == 0 || len(all) > maxScopes:
			return a.newFault("the token of %s is for too little, and it does not say what it wants", principalName(who))
		case a.Grant != AuthorizationCode:
			return a.requestGrant(ctx, c, t, said, all)
		}
		t.Wanted = all
		return a.newLoginFault("wants more of %s, the scope %s", principalName(who), clipQuote(strings.Join(said.scopes, " ")))
	})
}

func principalName(who string) string {
	if who == "" {
		return "every caller"
	}
	return who
}

// changeTokens changes the tokens of a principal, one at a time, and hands the token that
// holds then to the call. What a failed change noted is kept as well.
func (a *Authority) changeTokens(ctx context.Context, c *sallyport.Call, who string, step func(*tokens) error) (held tokenWithKey, err error) {
	name := a.recordName(who)
	done, err := a.lockRenewal(ctx, name)
	if err != nil {
		return held, err
	}
	defer done()
	t, stored, err := a.vault.openRecord(ctx, name)
	if err != nil {
		return held, err
	}
	before := t
	before.Scopes, before.Wanted = slices.Clone(t.Scopes), slices.Clone(t.Wanted)
	failed := step(&t)
	if !equalTokens(before, t) {
		// Tokens that were made are kept even when the call is over: a
		// refresh token that is lost is a login that is lost.
		if failed == nil {
			err = a.vault.saveTokens(context.WithoutCancel(ctx), name, t)
		} else {
			t, failed = a.saveFailedChange(context.WithoutCancel(ctx), name, stored, before.Access, t, failed)
		}
	}
	if err = cmp.Or(err, failed); err != nil {
		return held, err
	}
	return t.withKey(), a.vault.giveToken(ctx, c, a.Name, "access", t.Access)
}

// saveFailedChange saves what a failed change left of t, unless another program
// on the same state, or a login, has changed the record since. Tokens that
// came of that are used instead: then nothing failed.
func (a *Authority) saveFailedChange(ctx context.Context, name, stored, refused string, t tokens, failed error) (tokens, error) {
	if done, err := a.vault.saveIfUnchanged(ctx, name, stored, t); err != nil || done {
		return t, cmp.Or(err, failed)
	}
	now, err := a.vault.loadTokens(ctx, name)
	if err != nil || now.Access == "" || now.Access == refused {
		return t, cmp.Or(err, failed)
	}
	return now, nil
}

func equalTokens(a, b tokens) bool {
	return a.Issuer == b.Issuer && a.ClientID == b.ClientID && a.Access == b.Access && a.Refresh == b.Refresh &&
		slices.Equal(a.Scopes, b.Scopes) && slices.Equal(a.Wanted, b.Wanted)
}

// requestGrant gets a token without a login: for the gate's own account, or for
// the person whom a statement is about.
func (a *Authority) requestGrant(ctx context.Context, c *sallyport.Call, t *tokens, said challenge, scopes []string) error {
	p, err := a.discover(ctx, c, said)
	if err != nil {
		return err
	}
	switch {
	case a.Scopes != nil:
		scopes = a.Scopes
	case len(scopes) == 0:
		scopes = p.scopes
	}
	next := tokens{
		Issuer: p.name, Resource: p.resource, Endpoint: p.token, ClientID: a.ClientID, Scopes: scopes,
		Method: a.chooseAuthMethod(p.methods, a.ClientSecret != ""), Algorithms: p.algorithms,
	}
	if next.Key, err = newProofKey(&p.issuerMetadata); err != nil {
		return err
	}
	if err := a.allowCredential(next.Issuer, next.Endpoint); err != nil {
		return a.wrapFailure(err)
	}
	form, err := a.newClaimForm(ctx, c, &next)
	if err != nil {
		return a.wrapFailure(err)
	}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	if err := a.requestTokens(ctx, c, &next, form); err != nil {
		return a.wrapFailure(err)
	}
	*t = next
	return nil
}

// wrapFailure makes a failure one that the caller may read. A refusal of the grant
// stays what it is.
func (a *Authority) wrapFailure(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e
	}
	return a.newFault("%.500v", err)
}
