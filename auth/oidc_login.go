package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// oidcEndpoints are the endpoints of an issuer, as its discovery document has them.
type oidcEndpoints struct {
	Keys      string   `json:"jwks_uri"`
	Authorize string   `json:"authorization_endpoint"`
	Token     string   `json:"token_endpoint"`
	Methods   []string `json:"token_endpoint_auth_methods_supported"`
}

// LoginEndpoint returns where people log in and where a client redeems the code with which
// they come back. A client with a secret sends it in the way that the issuer names first of
// those that we have; one without only says who it is.
func (i *OIDC) LoginEndpoint(secret bool) (oauth2.Endpoint, error) {
	plain := strings.HasPrefix(i.o.Issuer, "http:")
	for _, at := range []string{i.endpoints.Authorize, i.endpoints.Token} {
		u, err := url.Parse(at)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !plain || !Loopback(u.Hostname())) {
			return oauth2.Endpoint{}, fmt.Errorf("auth: oidc: the issuer %s names no place to log in, or one without https", i.o.Issuer)
		}
	}
	style := oauth2.AuthStyleInHeader
	if !secret || len(i.endpoints.Methods) > 0 && !slices.Contains(i.endpoints.Methods, "client_secret_basic") {
		style = oauth2.AuthStyleInParams
	}
	return oauth2.Endpoint{AuthURL: i.endpoints.Authorize, TokenURL: i.endpoints.Token, AuthStyle: style}, nil
}

// RedeemLogin returns who came back from the issuer with a code. The code is redeemed with
// the verifier of this login (RFC 7636), and the ID token has to be for the audience, which
// is the client of c, and for this login: it has its nonce. What an error says may be shown:
// it holds no token and no secret.
func (i *OIDC) RedeemLogin(ctx context.Context, c *oauth2.Config, code, verifier, nonce string) (p sallyport.Principal, err error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, i.client), fetchTime)
	defer cancel()
	if code == "" || nonce == "" {
		return p, errors.New("the issuer sent no code")
	}
	answer, err := c.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return p, fmt.Errorf("the issuer did not take the code: %s", describeRefusal(refused))
	}
	if err != nil {
		return p, errors.New("the issuer did not answer when the code was redeemed, or not as RFC 6749 says")
	}
	token, ok := answer.Extra("id_token").(string)
	if !ok || strings.Count(token, ".") != 2 || !tokenText(token) {
		return p, errors.New("the issuer sent no ID token")
	}
	payload, err := i.keys.VerifySignature(ctx, token)
	if err == nil {
		p, err = i.checkClaims(ctx, token, payload)
	}
	if err == nil {
		err = checkLogin(payload, i.o.Audience, nonce)
	}
	if err != nil {
		return sallyport.Principal{}, fmt.Errorf("the ID token: %s", text.ClipBytes(err.Error(), loggedBytes))
	}
	return p, nil
}

// checkLogin checks what an ID token says of the login that it is for.
func checkLogin(payload []byte, client, nonce string) error {
	c, err := readClaims(payload)
	if err != nil {
		return err
	}
	if c["nonce"] != any(nonce) {
		return errors.New("nonce is of another login")
	}
	list, several := c["aud"].([]any)
	party, named := c["azp"]
	if named && party != any(client) || !named && several && len(list) > 1 {
		return errors.New("azp names another client")
	}
	return nil
}

// describeRefusal returns the code of an error of RFC 6749, when it has the form of one, and
// else the status: an answer may quote what was sent.
func describeRefusal(e *oauth2.RetrieveError) string {
	if e.ErrorCode != "" && len(e.ErrorCode) <= quotedBytes && consistsOf(e.ErrorCode, "_-.") {
		return e.ErrorCode
	}
	if e.Response == nil {
		return "no reason is given"
	}
	return fmt.Sprintf("status %d", e.Response.StatusCode)
}
