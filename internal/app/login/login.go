// Package login logs principals in at remote MCP servers, and out.
//
// Start with [LogIn] and [LogOut]. What a login asks of a server and its issuer goes
// through the gate, in a role that may use the server, and is recorded like calls.
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/callback"
	"github.com/sallyport/sallyport/internal/text"
)

// consentWait bounds how long a user may take to consent.
const consentWait = 5 * time.Minute

// Request is what a user asks for.
type Request struct {
	// Server is the name of the server.
	Server string
	// Principal is the one whose calls use the tokens.
	Principal string
	// Personality is the role whose grant limits the login; empty means the first that
	// lists the server.
	Personality string
	// Port is where the browser returns; 0 means any.
	Port int
}

// Page is the page on which a user consents, and what for.
type Page struct {
	oauth.Consent
	// Server is the name of the server.
	Server string
	// Principal is the one whose calls use the tokens; empty for a shared server.
	Principal string
	// Holder describes whose tokens they are.
	Holder string
	// Redirect is the address to which the browser returns.
	Redirect string
	// Wait is how long the login waits for that.
	Wait time.Duration
}

// Result is a login that succeeded.
type Result struct {
	oauth.Status
	// Server is the name of the server.
	Server string
	// Principal is the one whose calls use the tokens; empty for a shared server.
	Principal string
	// Holder describes whose tokens they are.
	Holder string
}

// LogIn logs a user in at a server. It calls show with the page to open.
func LogIn(ctx context.Context, rt *app.Runtime, r *Request, show func(*Page) error) (*Result, error) {
	s, err := findServer(rt.InForce(), r.Server)
	if err != nil {
		return nil, err
	}
	if rt.Passing {
		return nil, errors.New("login: the state is memory, so the tokens would be lost when this command ends: write state: sqlite:PATH")
	}
	if held := rt.InForce().Servers.Pins.Servers[s.Name]; held != nil && held.Why != "" {
		return nil, fmt.Errorf("login %s: %s", s.Name, held.Why)
	}
	if r.Principal != sallyport.LocalPrincipal {
		if err := app.CheckPrincipal(ctx, rt, r.Principal); err != nil {
			return nil, err
		}
	}
	role, err := chooseRole(rt.InForce(), s.Name, r.Personality)
	if err != nil {
		return nil, err
	}
	status, err := askConsent(ctx, rt, s, role, r, show)
	if err != nil {
		return nil, err
	}
	return &Result{status, s.Name, s.Holder(r.Principal), holderName(s, r.Principal)}, nil
}

// findServer returns a declared server that uses OAuth.
func findServer(t *app.Deployment, name string) (*upstream.Server, error) {
	var known []string
	for i := range t.Servers.Declared {
		s := &t.Servers.Declared[i]
		switch {
		case s.OAuth != nil && s.Name == name:
			return s, nil
		case s.Name == name:
			return nil, fmt.Errorf("%s has no oauth in mcp_servers: a login is not needed there", name)
		case s.OAuth != nil:
			known = append(known, s.Name)
		}
	}
	return nil, app.UnknownName("server with oauth", name, known)
}

// chooseRole returns the role whose grant bounds a login.
func chooseRole(t *app.Deployment, server, asked string) (string, error) {
	roles := t.RolesWith(server)
	switch {
	case len(roles) == 0:
		return "", fmt.Errorf("no personality lists %s in mcp_servers, so no caller can use it: add it to one", server)
	case asked == "":
		return roles[0], nil
	case !slices.Contains(roles, asked):
		return "", fmt.Errorf("--personality %s: expected one that lists %s in mcp_servers: %s", asked, server, strings.Join(roles, ", "))
	default:
		return asked, nil
	}
}

// askConsent runs a login through the gate, in a role that may use the server. The
// requests of the login are decided and recorded like calls.
func askConsent(ctx context.Context, rt *app.Runtime, s *upstream.Server, role string, r *Request, show func(*Page) error) (status oauth.Status, err error) {
	back, err := callback.Listen(ctx, rt.Listeners, r.Port)
	if err != nil {
		return status, err
	}
	defer back.Close()
	ask := func(ctx context.Context, what oauth.Consent) (url.Values, error) {
		if err := show(&Page{what, s.Name, s.Holder(r.Principal), holderName(s, r.Principal), back.URL(), consentWait}); err != nil {
			return nil, err
		}
		return back.Await(ctx, what.State, consentWait)
	}
	tool, err := rt.InForce().Servers.Mounts.Login(s.Name, oauth.LoginOptions{Redirect: back.URL(), Ask: ask}, func(got oauth.Status) { status = got })
	if err == nil {
		err = rt.InForce().Servers.Finder.Register(tool)
	}
	if err != nil {
		return status, err
	}
	res := rt.InForce().CallFinder(ctx, role, tool.Name, encodeArguments(r.Principal))
	if !res.OK {
		return status, fmt.Errorf("login %s: %s", s.Name, text.PrintableLine(res.Error))
	}
	return status, nil
}

// encodeArguments returns the arguments of a login.
func encodeArguments(principal string) json.RawMessage {
	// Marshalling a map of strings cannot fail.
	text, _ := json.Marshal(map[string]string{"principal": principal})
	return text
}

// holderName describes whose tokens they are.
func holderName(s *upstream.Server, principal string) string {
	if s.Shared {
		return "everybody"
	}
	return principal
}
