package login

import (
	"context"
	"errors"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/text"
)

// End is the end of a login.
type End struct {
	// Server is the name of the server.
	Server string
	// Principal is the one whose calls used the tokens; empty for a shared server.
	Principal string
	// Holder describes whose tokens they were.
	Holder string
	// Revocation is what became of the tokens at the issuer; nil where there were none.
	Revocation *Revocation
}

// LogOut removes tokens. It removes them first, so that neither a fault of the
// record nor an answer of the issuer keeps them.
func LogOut(ctx context.Context, rt *app.Runtime, server, principal string) (*End, error) {
	s, err := findServer(rt.InForce(), server)
	if err != nil {
		return nil, err
	}
	was, err := removeTokens(ctx, rt, s, principal)
	if err != nil {
		return nil, err
	}
	end := &End{Server: server, Principal: s.Holder(principal), Holder: holderName(s, principal)}
	if was.LoggedIn {
		end.Revocation = revokeTokens(ctx, rt, server, was)
	}
	return end, nil
}

// removeTokens removes the tokens of a principal at a server. It records the removal
// when there were any.
func removeTokens(ctx context.Context, rt *app.Runtime, s *upstream.Server, principal string) (oauth.Forgotten, error) {
	vault, err := rt.NewVault()
	if err != nil {
		return oauth.Forgotten{}, err
	}
	was, err := vault.Forget(ctx, s.OAuth, s.Holder(principal))
	if err != nil || !was.LoggedIn {
		return was, err
	}
	return was, rt.RecordDone(ctx, app.ChangeEvent(audit.ActionLogout, s.Name, "of "+holderName(s, principal)), "")
}

// Revocation is the result of asking an issuer to revoke tokens that are no
// longer used.
type Revocation struct {
	// Outcome is revoked, unsupported or failed.
	Outcome string `json:"outcome"`
	// Error is why it failed; empty otherwise.
	Error string `json:"error,omitempty"`
}

// Describe describes the result for a user.
func (r *Revocation) Describe() string {
	const there = "end the access there too if the tokens may have leaked"
	switch r.Outcome {
	case "revoked":
		return "its issuer has revoked them"
	case "unsupported":
		return "its issuer revokes no tokens: " + there
	default:
		return "its issuer has not revoked them: " + r.Error + ": " + there
	}
}

// revokeTokens asks the issuer to revoke removed tokens, through the gate, in a role
// that may use the server.
func revokeTokens(ctx context.Context, rt *app.Runtime, name string, was oauth.Forgotten) *Revocation {
	failed := func(err error) *Revocation {
		return &Revocation{Outcome: "failed", Error: text.PrintableLine(err.Error())}
	}
	role, err := chooseRole(rt.InForce(), name, "")
	if err != nil {
		return failed(err)
	}
	told := false
	tool, err := rt.InForce().Servers.Mounts.Logout(name, was, func(t bool) { told = t })
	if err == nil {
		err = rt.InForce().Servers.Finder.Register(tool)
	}
	if err != nil {
		return failed(err)
	}
	switch res := rt.InForce().CallFinder(ctx, role, tool.Name, nil); {
	case !res.OK:
		return failed(errors.New(res.Error))
	case told:
		return &Revocation{Outcome: "revoked"}
	default:
		return &Revocation{Outcome: "unsupported"}
	}
}

// ForgetAll removes the tokens that belong to a principal alone: the
// next principal with this name may be another person.
func ForgetAll(ctx context.Context, rt *app.Runtime, principal string) error {
	declared, err := app.DecodeServers(rt.InForce().Config, rt.Env.Home)
	if err != nil {
		return err
	}
	for i := range declared {
		if s := &declared[i]; s.OAuth != nil && !s.Shared {
			_, failed := removeTokens(ctx, rt, s, principal)
			err = errors.Join(err, failed)
		}
	}
	return err
}
