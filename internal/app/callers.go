package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/store/memory"
)

// TokenSetting is the state's key of the hash of the first token.
const TokenSetting = "auth/local/token_sha256"

// openCallers finds the principals that may call: those of the configuration
// and those of the state, without the stopped ones.
func (rt *Runtime) openCallers(ctx context.Context) (err error) {
	if rt.Switches, err = auth.NewSwitches(rt.Access.Switches()); err != nil {
		return err
	}
	rt.Callers, err = rt.newDirectory(ctx)
	return err
}

// newDirectory returns the principals of the configuration and of the state.
func (rt *Runtime) newDirectory(ctx context.Context) (*auth.Directory, error) {
	token := func(ctx context.Context) (string, error) {
		hash, _, err := rt.Settings.Get(ctx, TokenSetting)
		return hash, err
	}
	return auth.NewDirectory(ctx, recordsOf(rt.InForce().Config), rt.Access.Principals(), &auth.Options{
		DefaultPermissions: rt.InForce().Config.Security.DefaultPermissions, LocalToken: token, Logger: rt.Logger,
	})
}

// recordsOf returns the principals of a configuration as records of package
// auth, sorted by name.
func recordsOf(c *config.Config) []auth.Record {
	var records []auth.Record
	for _, name := range slices.Sorted(maps.Keys(c.Principals)) {
		p := c.Principals[name]
		records = append(records, auth.Record{
			Name: p.Name, TokenSHA256: p.TokenSHA256, Expires: p.Expires,
			Permissions: p.Permissions, Personalities: p.Personalities, Person: p.Person, Task: p.Task,
		})
	}
	return records
}

// standingCheck checks whether an authenticated principal may still call.
type standingCheck struct {
	callers *auth.Directory
	live    *atomic.Pointer[Live]
}

// Stands implements registry.Standing. A principal of an issuer loses access
// when its token ends, as long as the configuration trusts the issuer.
func (s standingCheck) Stands(ctx context.Context, principal string, since time.Time) (bool, error) {
	if strings.HasPrefix(principal, auth.OIDCPrefix) {
		l := s.live.Load()
		return l == nil || l.currentIssuer() != nil, nil
	}
	return s.callers.Stands(ctx, principal, since)
}

// stillCalls reports whether a principal that could call at a moment still may.
func (rt *Runtime) stillCalls(ctx context.Context, principal string, since time.Time) (bool, error) {
	if rt.Callers == nil {
		return false, errors.New("the principals are not known")
	}
	return standingCheck{rt.Callers, &rt.Live}.Stands(ctx, principal, since)
}

// openCounters chooses the store that counts rate limits.
func (rt *Runtime) openCounters(context.Context) error {
	rt.counters = rt.State
	if rt.InForce().Config.Limits != config.LimitsMemory {
		return nil
	}
	m, err := memory.New(nil)
	if err != nil {
		return err
	}
	rt.counters = m
	rt.closers = append(rt.closers, m.Close)
	return nil
}

// findPrincipal returns the principal for a call at the command line: the local
// user, or another one that the operator of this machine names.
func (rt *Runtime) findPrincipal(ctx context.Context, name string) (sallyport.Principal, error) {
	if name == "" || name == sallyport.LocalPrincipal {
		return rt.Callers.Local(), nil
	}
	p, ok, err := rt.Callers.Named(ctx, name)
	if err == nil && !ok {
		err = fmt.Errorf("--principal %s: no principal of this name may call; %s lists all, with those that expired or were revoked", name, rt.ShortCommand("principals ls"))
	}
	return p, err
}
