package command

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/registry"
)

// live is the gate that the surfaces of a server use: the registry in force,
// which a reload replaces. A call ends in the turn in which it began. It is
// safe for concurrent use.
type live struct {
	mu      sync.Mutex
	now     *deployment
	changed func() // tells clients that lists may have changed; nil tells no client
	// callers holds the principals of the configuration in force; nil when they
	// never change.
	callers *auth.Directory
}

func newLive(t *deployment) *live {
	t.idle = make(chan struct{})
	return &live{now: t}
}

// setListener sets the function that tells clients that what they see may have
// changed.
func (l *live) setListener(changed func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
}

// listChanged tells clients that what they see may have changed. It is cheap,
// and calls in quick succession send one notification.
func (l *live) listChanged() {
	l.mu.Lock()
	changed := l.changed
	l.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// acquireDeployment returns the turn in force. The turn stays open until leave.
func (l *live) acquireDeployment() *deployment {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.uses++
	return l.now
}

func (l *live) releaseDeployment(t *deployment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.uses--
	t.closeIdleWhenUnused()
}

// closeIdleWhenUnused signals that a retired turn has no calls left. The caller holds the
// lock.
func (t *deployment) closeIdleWhenUnused() {
	if t.retired && t.uses == 0 {
		close(t.idle)
		t.retired = false
	}
}

// swapDeployment puts another turn in force together with its callers. It returns the
// previous turn, whose idle channel closes when the last call in it has ended.
// A request that is authenticated as one of the new callers finds the new turn.
func (l *live) swapDeployment(next *deployment, callers func()) (before *deployment) {
	next.idle = make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	before, l.now = l.now, next
	callers()
	before.retired = true
	before.closeIdleWhenUnused()
	return before
}

// refreshCaller returns the caller with the rights that the configuration of a turn
// gives it. A caller that the previous configuration admitted a moment ago gets
// its present rights.
func (l *live) refreshCaller(ctx context.Context, t *deployment, caller *sallyport.Caller) *sallyport.Caller {
	if l.callers == nil || caller == nil || caller.Principal.Revision == 0 || caller.Principal.Revision == t.revision {
		return caller
	}
	own := *caller
	own.Principal.Permissions, own.Principal.Personalities = nil, []string{}
	if strings.HasPrefix(caller.Principal.Name, auth.OIDCPrefix) {
		// The permissions from its token stay; those that every caller had may
		// be withdrawn.
		own.Principal.Permissions = slices.DeleteFunc(slices.Clone(caller.Principal.Permissions), func(permission string) bool {
			return slices.Contains(t.withdrawn, permission)
		})
		own.Principal.Personalities = l.issuerRoles()
		return &own
	}
	now, ok, err := l.callers.Named(ctx, caller.Principal.Name)
	if ok && err == nil {
		own.Principal = now
	}
	return &own
}

// currentIssuer returns what the configuration in force says about the issuer, or nil
// when it names none.
func (l *live) currentIssuer() *config.OIDC {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now.config.Security.OIDC
}

// issuerRoles returns the roles that callers of the issuer may take.
func (l *live) issuerRoles() []string {
	if o := l.currentIssuer(); o != nil && o.Personalities != nil {
		return o.Personalities
	}
	// An empty list allows no role; nil would allow any.
	return []string{}
}

// protectedResource tells clients of /mcp which issuer's tokens open it.
func (l *live) protectedResource() *auth.Resource {
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
func (l *live) supportedScopes() (list []string) {
	o := l.currentIssuer()
	if o == nil || o.PermissionsClaim != "scope" && o.PermissionsClaim != "scp" {
		return nil
	}
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	for _, tool := range t.registry.Tools() {
		list = append(list, tool.Permissions...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// issuerTokens accepts the tokens of an issuer while the configuration names it.
type issuerTokens struct {
	auth.Tokens
	live *live
}

// Principal implements auth.Tokens.
func (b issuerTokens) Principal(ctx context.Context, token string) (p sallyport.Principal, ok bool, err error) {
	if b.live.currentIssuer() == nil {
		return p, false, nil
	}
	// Read the revision first: what is read later may be newer, and is then
	// checked again.
	revision := b.live.callers.Revision()
	p, ok, err = b.Tokens.Principal(ctx, token)
	p.Revision = revision
	return p, ok, err
}

// Definitions returns the definitions that a caller sees.
func (l *live) Definitions(caller *sallyport.Caller) []registry.Definition {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Definitions(l.refreshCaller(context.Background(), t, caller))
}

// Call decides and makes one call.
func (l *live) Call(ctx context.Context, caller *sallyport.Caller, q sallyport.Request) sallyport.Result {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Call(ctx, l.refreshCaller(ctx, t, caller), q)
}

// Reject records a call that did not arrive complete.
func (l *live) Reject(ctx context.Context, caller *sallyport.Caller, q sallyport.Request, why string) sallyport.Result {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Reject(ctx, caller, q, why)
}

// List returns the tools that a caller sees, as they were declared.
func (l *live) List(caller *sallyport.Caller) []sallyport.Tool {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.List(l.refreshCaller(context.Background(), t, caller))
}

// Explain returns the decision about a tool before its arguments count.
func (l *live) Explain(caller *sallyport.Caller, tool string) (registry.Explanation, error) {
	t := l.acquireDeployment()
	defer l.releaseDeployment(t)
	return t.registry.Explain(l.refreshCaller(context.Background(), t, caller), tool)
}
