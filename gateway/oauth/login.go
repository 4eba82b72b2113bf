package oauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
)

// Consent is what a person is asked for.
type Consent struct {
	// URL is the page of the issuer to open, https or on this machine.
	URL string
	// Host is the host of the page, Issuer whose it is.
	Host, Issuer string
	// Scopes is what the server may do then; empty leaves it to the issuer.
	Scopes []string
	// State comes back with the answer.
	State string
}

// LoginOptions say how a person is asked.
type LoginOptions struct {
	// Redirect is where the issuer sends the answer, on this machine.
	Redirect string
	// Ask shows the page to the person and returns the parameters with which
	// the issuer came back.
	Ask func(ctx context.Context, what Consent) (url.Values, error)
}

// Login has a person consent, for the principal who, and keeps the tokens. The
// error says what went wrong; nothing is kept then.
func (a *Authority) Login(ctx context.Context, c *sallyport.Call, who string, o LoginOptions) (Status, error) {
	if a.Grant != AuthorizationCode {
		return Status{}, a.newFault("a login is not needed there: oauth.grant is %s", a.Grant)
	}
	said, err := a.probeChallenge(ctx, c)
	if err != nil {
		return Status{}, a.wrapFailure(err)
	}
	p, err := a.discover(ctx, c, said)
	if err != nil {
		return Status{}, err
	}
	name := a.recordName(who)
	before, err := a.vault.loadTokens(ctx, name)
	if err != nil {
		return Status{}, err
	}
	t := tokens{Issuer: p.name, Resource: p.resource, Endpoint: p.token, Algorithms: p.algorithms}
	t.Scopes = a.scopesToRequest(&p, said, before.Wanted)
	if t.Key, err = newProofKey(&p.issuerMetadata); err != nil {
		return Status{}, err
	}
	if err := a.ensureClient(ctx, c, &t, &p, o.Redirect); err != nil {
		return Status{}, a.wrapFailure(err)
	}
	if err := a.askConsent(ctx, c, &t, &p, o); err != nil {
		return Status{}, a.wrapFailure(err)
	}
	if err := a.vault.saveTokens(context.WithoutCancel(ctx), name, t); err != nil {
		return Status{}, err
	}
	return t.toStatus(), nil
}

// probeChallenge asks the server for its challenge, with a message that changes nothing.
func (a *Authority) probeChallenge(ctx context.Context, c *sallyport.Call) (challenge, error) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, strings.NewReader(ping))
	if err != nil {
		return challenge{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := AtHome(c.Network.Client(), a.Name, a.URL).Do(r)
	if err != nil {
		return challenge{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized || !a.isFromServer(resp) {
		return challenge{}, nil
	}
	return challengeOf(resp), nil
}

// scopesToRequest returns what is asked for: what the operator wrote, else what
// the server said that it wants, else all that it knows, else nothing in
// particular.
func (a *Authority) scopesToRequest(p *discoveryResult, said challenge, wanted []string) []string {
	if a.Scopes != nil {
		return a.Scopes
	}
	list := unionScopes(said.scopes, wanted)
	if len(list) == 0 {
		list = slices.Clone(p.scopes)
	}
	// Without it many issuers give no refresh token.
	if slices.Contains(p.issuerMetadata.scopes, "offline_access") && !slices.Contains(list, "offline_access") {
		list = append(list, "offline_access")
	}
	return list
}

// ensureClient finds the name under which the gate is known at an issuer.
func (a *Authority) ensureClient(ctx context.Context, c *sallyport.Call, t *tokens, p *discoveryResult, redirect string) error {
	switch {
	case a.Document != "" && p.documents:
		t.ClientID, t.Method = a.Document, a.chooseAuthMethod(nil, false)
		return nil
	case a.ClientID != "":
		t.ClientID, t.Method = a.ClientID, a.chooseAuthMethod(p.methods, a.ClientSecret != "")
		return nil
	case a.Register && p.registration != "":
		return a.registerClient(ctx, c, t, p, redirect)
	default:
		return errors.New("its issuer does not know this client: write the client_id that it gave, or register: true where it registers clients")
	}
}

// registerClient registers the gate at an issuer (RFC 7591).
func (a *Authority) registerClient(ctx context.Context, c *sallyport.Call, t *tokens, p *discoveryResult, redirect string) error {
	method := methodNone
	if len(p.methods) > 0 && !slices.Contains(p.methods, methodNone) {
		method = a.chooseAuthMethod(p.methods, true)
	}
	r, err := newRegistration(ctx, p.registration, redirect, method)
	if err != nil {
		return err
	}
	resp, err := newClient(c, 0).Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10))
		return fmt.Errorf("its issuer does not register this client: it answered %d", resp.StatusCode)
	}
	d, err := readDocument(resp)
	if err != nil {
		return fmt.Errorf("its issuer's registration: %w", err)
	}
	t.ClientID, t.ClientSecret, t.Method = d.stringField("client_id"), d.stringField("client_secret"), method
	if chosen := d.stringField("token_endpoint_auth_method"); slices.Contains([]string{methodNone, methodBasic, methodPost}, chosen) {
		t.Method = chosen
	}
	if d.err != nil || !isHeaderSafe(t.ClientID) || t.ClientSecret != "" && !isHeaderSafe(t.ClientSecret) {
		return errors.New("its issuer's registration is not well formed")
	}
	return a.vault.giveToken(ctx, c, a.Name, "client", t.ClientSecret)
}

// newRegistration makes the request to register a client that comes back to
// redirect.
func newRegistration(ctx context.Context, at, redirect, method string) (*http.Request, error) {
	text, err := json.Marshal(map[string]any{
		"client_name": "Sallyport", "redirect_uris": []string{redirect}, "application_type": "native",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": method,
	})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("its registration endpoint is no address")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	return r, nil
}

// askConsent sends the person to the issuer and exchanges the code with which they
// come back.
func (a *Authority) askConsent(ctx context.Context, c *sallyport.Call, t *tokens, p *discoveryResult, o LoginOptions) error {
	switch {
	case p.authorize == "":
		return errors.New("its issuer has no page to log in at")
	case !slices.Contains(p.challenges, "S256"):
		return errors.New("its issuer does not support PKCE with S256: a code that is stolen on the way could be used")
	}
	// Two texts are 52 characters; the least that PKCE takes is 43.
	verifier, state := rand.Text()+rand.Text(), rand.Text()
	u, err := url.Parse(p.authorize)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(verifier))
	q := u.Query()
	for key, value := range map[string]string{
		"response_type": "code", "client_id": t.ClientID, "redirect_uri": o.Redirect, "state": state, "resource": t.Resource,
		"code_challenge": base64.RawURLEncoding.EncodeToString(digest[:]), "code_challenge_method": "S256",
		"scope": strings.Join(t.Scopes, " "),
	} {
		if q.Del(key); value != "" {
			q.Set(key, value)
		}
	}
	u.RawQuery = q.Encode()
	back, err := o.Ask(ctx, Consent{URL: u.String(), Host: u.Host, Issuer: p.name, Scopes: t.Scopes, State: state})
	if err != nil {
		return err
	}
	code, err := codeFromAnswer(back, state, &p.issuerMetadata)
	if err != nil {
		return err
	}
	return a.requestTokens(ctx, c, t, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {o.Redirect}, "code_verifier": {verifier},
	})
}

// codeFromAnswer returns the code of an answer, once that is shown to be the
// answer to our question by the issuer that was asked.
func codeFromAnswer(back url.Values, state string, i *issuerMetadata) (string, error) {
	for _, key := range []string{"state", "code", "iss", "error"} {
		if len(back[key]) > 1 {
			return "", fmt.Errorf("the answer has two of %s", key)
		}
	}
	iss := back.Get("iss")
	switch {
	case subtle.ConstantTimeCompare([]byte(back.Get("state")), []byte(state)) != 1:
		return "", errors.New("the answer is not to this question: its state is another")
	case i.signs && iss == "":
		return "", errors.New("the answer does not say of which issuer it is, although its issuer always does")
	case iss != "" && iss != i.name:
		return "", fmt.Errorf("the answer is of another issuer, %s", clipQuote(iss))
	case iss != "" && !i.signs:
		return "", errors.New("the answer says of which issuer it is, although its issuer never does")
	case back.Has("error"):
		code := back.Get("error")
		if !errorCode().MatchString(code) {
			code = "an error that is none"
		}
		return "", &grantRefusal{code}
	case back.Get("code") == "" || len(back.Get("code")) > maxToken:
		return "", errors.New("the answer brings no code")
	}
	return back.Get("code"), nil
}
