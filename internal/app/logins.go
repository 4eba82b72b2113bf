package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// FindOAuthServer returns a declared server that uses OAuth.
func FindOAuthServer(t *Deployment, name string) (*upstream.Server, error) {
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
	return nil, UnknownName("server with oauth", name, known)
}

// LoginRole returns the role whose grant bounds a login.
func LoginRole(t *Deployment, server, asked string) (string, error) {
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

// RemoveTokens removes the tokens of a principal at a server. It records the removal
// when there were any.
func RemoveTokens(ctx context.Context, rt *Runtime, s *upstream.Server, principal string) (oauth.Forgotten, error) {
	vault, err := rt.NewVault()
	if err != nil {
		return oauth.Forgotten{}, err
	}
	was, err := vault.Forget(ctx, s.OAuth, s.Holder(principal))
	if err != nil || !was.LoggedIn {
		return was, err
	}
	return was, rt.RecordDone(ctx, ChangeEvent(audit.ActionLogout, s.Name, "of "+HolderName(s, principal)), "")
}

// ForgetLogins removes the tokens that belong to a principal alone: the
// next principal with this name may be another person.
func ForgetLogins(ctx context.Context, rt *Runtime, principal string) error {
	declared, err := DecodeServers(rt.Config, rt.Env.Home)
	if err != nil {
		return err
	}
	for i := range declared {
		if s := &declared[i]; s.OAuth != nil && !s.Shared {
			_, failed := RemoveTokens(ctx, rt, s, principal)
			err = errors.Join(err, failed)
		}
	}
	return err
}

// HolderName describes whose tokens they are.
func HolderName(s *upstream.Server, principal string) string {
	if s.Shared {
		return "everybody"
	}
	return principal
}
