package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/oauth"
)

// loginWait bounds a login, from the first request to the server to the
// issuer's token. In that time a user has to find a password.
const loginWait = 6 * time.Minute

// logoutWait bounds the revocation of tokens: three short requests.
const logoutWait = 20 * time.Second

// newAuthority returns the authority of a server with OAuth; nil for any other
// server. It adds the name and the URL of the server to a copy of its OAuth
// declaration.
func (s *Server) newAuthority(v *oauth.Vault) (*oauth.Authority, error) {
	if s.OAuth == nil {
		return nil, nil
	}
	declared := *s.OAuth
	declared.Name, declared.URL = s.Name, s.URL
	s.OAuth = &declared
	a, err := oauth.New(declared, v)
	if err != nil {
		return nil, fmt.Errorf("upstream: server %s: oauth: %w", s.Name, err)
	}
	return a, nil
}

// Holder returns the name under which the tokens of a principal are kept. All
// principals have the same one when the server is shared.
func (s *Server) Holder(principal string) string {
	if s.Shared {
		return ""
	}
	return principal
}

// loginNeeded finds the error that says that a user has to log in.
func loginNeeded(err error) (e *sallyport.Error, ok bool) {
	for errors.Is(err, oauth.ErrLogin) {
		if e, ok = errors.AsType[*sallyport.Error](err); !ok || e.Err == oauth.ErrLogin {
			return e, ok
		}
		err = e.Unwrap()
	}
	return nil, false
}

// Login returns a tool that logs a principal in at a server: its one argument
// is {"principal": NAME}. Run it in a separate gate, in a role that may use the
// server, as with [Mounts.Discovery]. done is called with the outcome.
func (m *Mounts) Login(name string, o oauth.LoginOptions, done func(oauth.Status)) (sallyport.Tool, error) {
	s := m.findServer(name)
	if s == nil || s.authority == nil {
		return sallyport.Tool{}, fmt.Errorf("the server %s has no oauth in its declaration", quoteName(name))
	}
	t := s.newOperatorTool("login-"+name, "Logs a principal in at the MCP server "+name+".", loginWait)
	t.Schema = json.RawMessage(`{"type":"object","properties":{"principal":{"type":"string","minLength":1}},"required":["principal"],"additionalProperties":false}`)
	t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		var in struct {
			Principal string `json:"principal"`
		}
		if err := json.Unmarshal(c.Args, &in); err != nil {
			return sallyport.Result{}, err
		}
		status, err := s.authority.Login(ctx, c, s.Holder(in.Principal), o)
		if err != nil {
			return sallyport.Result{}, err
		}
		done(status)
		return sallyport.OK("logged in"), nil
	}
	return t, nil
}

// Logout returns a tool that asks the issuer of a server to revoke tokens that
// were removed. Run it in a separate gate, as with [Mounts.Login]. done is told
// whether the issuer supports revocation and has accepted this one.
func (m *Mounts) Logout(name string, f oauth.Forgotten, done func(told bool)) (sallyport.Tool, error) {
	s := m.findServer(name)
	if s == nil || s.authority == nil {
		return sallyport.Tool{}, fmt.Errorf("the server %s has no oauth in its declaration", quoteName(name))
	}
	t := s.newOperatorTool("logout-"+name, "Revokes tokens at the issuer of the MCP server "+name+".", logoutWait)
	t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		told, err := s.authority.Revoke(ctx, c, f)
		if err != nil {
			return sallyport.Result{}, err
		}
		done(told)
		return sallyport.OK("logged out"), nil
	}
	return t, nil
}
