package app

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/signin"
)

// clientPrefix begins the name of the person behind the client of a principal.
const clientPrefix = "client:"

// checkStanding returns what reports whether a person who said something at a moment still
// is who may decide: a principal that is there, with the same token and the permission, and
// one of an issuer as long as that is configured. People of the page lose what they said
// when their sign-ins end; see [Runtime.EndYeses].
func (rt *Runtime) checkStanding(ctx context.Context) func(person string, since time.Time) bool {
	callers, failed := rt.Callers, error(nil)
	return func(person string, since time.Time) bool {
		name, client := strings.CutPrefix(person, clientPrefix)
		if name == sallyport.LocalPrincipal || strings.HasPrefix(person, signin.Prefix) {
			return true
		}
		if callers == nil && failed == nil {
			callers, failed = rt.newDirectory(ctx)
		}
		if failed != nil {
			return false
		}
		if ok, err := (standingCheck{callers, &rt.Live}).Stands(ctx, name, since); !ok || err != nil {
			return false
		}
		if client || strings.HasPrefix(name, auth.OIDCPrefix) {
			return true
		}
		p, ok, err := callers.Named(ctx, name)
		return ok && err == nil && slices.Contains(p.Permissions, signin.PermissionDecide)
	}
}

// EndYeses removes what people said to calls that wait for the yes of another person: of
// these people or, without names, of all but the local user and those behind clients.
func (rt *Runtime) EndYeses(ctx context.Context, people ...string) error {
	return approvals.RemoveYeses(ctx, rt.Settings, func(y *approvals.Yes) bool {
		if len(people) == 0 {
			return y.Person != sallyport.LocalPrincipal && !strings.HasPrefix(y.Person, clientPrefix)
		}
		return slices.Contains(people, y.Person)
	})
}

// endStoppedYeses removes what people said whom a kill switch stops.
func (rt *Runtime) endStoppedYeses(ctx context.Context, kind auth.SwitchKind, name string) error {
	return approvals.RemoveYeses(ctx, rt.Settings, func(y *approvals.Yes) bool {
		for _, principal := range []string{y.Person, strings.TrimPrefix(y.Person, clientPrefix)} {
			targets := auth.SwitchTargets(principal, "", "")
			if principal != sallyport.LocalPrincipal && slices.Contains(targets[:], auth.SwitchTarget{Kind: kind, Name: name}) {
				return true
			}
		}
		return false
	})
}
