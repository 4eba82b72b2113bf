package app

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/registry"
)

// Live is the registry in force for the surfaces of a server, with the
// configuration that it belongs to. A reload replaces both. It is safe for
// concurrent use.
type Live struct {
	*registry.Live
	deployment *atomic.Pointer[Deployment] // of the runtime

	mu      sync.Mutex
	changed func() // tells clients that lists may have changed; nil tells no client
}

// NewLive serves the deployment in force of a runtime.
func NewLive(rt *Runtime) *Live {
	t := rt.InForce()
	t.sets.Start()
	return &Live{Live: registry.NewLive(t.Registry), deployment: &rt.deployment}
}

// InForce returns the deployment in force. It is read only, and may be replaced by
// another one at any time.
func (l *Live) InForce() *Deployment { return l.deployment.Load() }

// SetListener sets the function that tells clients that what they see may have
// changed.
func (l *Live) SetListener(changed func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
}

// listChanged tells clients that what they see may have changed. It is cheap,
// and calls in quick succession send one notification.
func (l *Live) listChanged() {
	l.mu.Lock()
	changed := l.changed
	l.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// swapDeployment puts another deployment in force together with its callers.
// It returns the previous one, and a channel that closes when the last call in
// that one has ended.
func (l *Live) swapDeployment(next *Deployment, callers func()) (before *Deployment, idle <-chan struct{}) {
	next.sets.Start()
	before = l.InForce()
	_, idle = l.Replace(next.Registry, func() {
		l.deployment.Store(next)
		callers()
	})
	return before, idle
}

// refreshCaller returns the caller with the rights that the configuration of a
// deployment gives it. A caller that the previous configuration admitted a
// moment ago gets its present rights.
func (t *Deployment) refreshCaller(ctx context.Context, callers *auth.Directory, caller *sallyport.Caller) *sallyport.Caller {
	if caller.Principal.Revision == 0 || caller.Principal.Revision == t.revision {
		return caller
	}
	own := *caller
	own.Principal.Permissions, own.Principal.Personalities = nil, []string{}
	if strings.HasPrefix(caller.Principal.Name, auth.OIDCPrefix) {
		// The permissions from its token stay; those that every caller had may
		// be withdrawn.
		own.Principal.Permissions = withoutAll(caller.Principal.Permissions, t.withdrawn)
		own.Principal.Personalities = t.issuerRoles()
		return &own
	}
	now, ok, err := callers.Named(ctx, caller.Principal.Name)
	if ok && err == nil {
		own.Principal = now
		own.Principal.Delegation = caller.Principal.Delegation // a sub-agent stays one, and no person
		own.Principal.Person = now.Person && caller.Principal.Person && own.Principal.Delegation == ""
	}
	return &own
}

// withoutAll returns the permissions that are not among those that are gone.
func withoutAll(permissions, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(permissions), func(p string) bool { return slices.Contains(gone, p) })
}

// issuerRoles returns the roles that callers of the issuer may take.
func (t *Deployment) issuerRoles() []string {
	if o := t.Config.Security.OIDC; o != nil && o.Personalities != nil {
		return o.Personalities
	}
	// An empty list allows no role; nil would allow any.
	return []string{}
}

// currentIssuer returns what the configuration in force says about the issuer, or nil
// when it names none.
func (l *Live) currentIssuer() *config.OIDC { return l.deployment.Load().Config.Security.OIDC }

// IssuerRoles returns the roles that callers of the issuer may take.
func (l *Live) IssuerRoles() []string { return l.deployment.Load().issuerRoles() }

// ProtectedResource tells clients of /mcp which issuer's tokens open it.
func (l *Live) ProtectedResource() *auth.Resource {
	return &auth.Resource{
		Path: "/mcp",
		Issuer: func() string {
			if o := l.currentIssuer(); o != nil {
				return o.Issuer
			}
			return ""
		},
		Scopes: l.supportedScopes,
	}
}

// supportedScopes lists the permissions that tools require, when the scopes of a token
// are permissions.
func (l *Live) supportedScopes() (list []string) {
	o := l.currentIssuer()
	if o == nil || o.PermissionsClaim != "scope" && o.PermissionsClaim != "scp" {
		return nil
	}
	r, release := l.Acquire()
	defer release()
	for _, tool := range r.Tools() {
		list = append(list, tool.Permissions...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// IssuerTokens accepts the tokens of the provider of an issuer while the
// configuration names the issuer.
func (l *Live) IssuerTokens(provider auth.Tokens, callers *auth.Directory) auth.Tokens {
	return trustedTokens{provider, l, callers}
}

// trustedTokens accepts the tokens of an issuer while the configuration names
// it.
type trustedTokens struct {
	auth.Tokens
	live    *Live
	callers *auth.Directory
}

// Principal implements auth.Tokens.
func (b trustedTokens) Principal(ctx context.Context, token string) (p sallyport.Principal, ok bool, err error) {
	if b.live.currentIssuer() == nil {
		return p, false, nil
	}
	// Read the revision first: what is read later may be newer, and is then
	// checked again.
	revision := b.callers.Revision()
	p, ok, err = b.Tokens.Principal(ctx, token)
	p.Revision = revision
	return p, ok, err
}
