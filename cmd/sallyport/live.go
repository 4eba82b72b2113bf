package main

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

// live is the gate that the surfaces of a server ask: the registry in force,
// which a reload exchanges. A call ends in the turn in which it began. It is
// safe for concurrent use.
type live struct {
	mu      sync.Mutex
	now     *turn
	changed func() // tells clients that lists may be others now; nil tells nobody
	// callers are those of the configuration in force; nil where none change.
	callers *auth.Directory
}

func newLive(t *turn) *live {
	t.idle = make(chan struct{})
	return &live{now: t}
}

// tells has clients told whenever what they see may have changed.
func (l *live) tells(changed func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
}

// listChanged tells clients that what they see may have changed. It is cheap,
// and calls in quick succession make one notification.
func (l *live) listChanged() {
	l.mu.Lock()
	changed := l.changed
	l.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// enter returns the turn in force, which stays open until leave.
func (l *live) enter() *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.uses++
	return l.now
}

func (l *live) leave(t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.uses--
	t.settle()
}

// settle tells that a turn is over. The caller holds the lock.
func (t *turn) settle() {
	if t.retired && t.uses == 0 {
		close(t.idle)
		t.retired = false
	}
}

// exchange puts another turn in force, with its callers, and returns the one
// before, whose idle channel closes when the last call in it has ended. Who is
// let in as one of the new callers finds the new turn.
func (l *live) exchange(next *turn, callers func()) (before *turn) {
	next.idle = make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	before, l.now = l.now, next
	callers()
	before.retired = true
	before.settle()
	return before
}

// present is a caller as the configuration of a turn knows it. One that was let
// in under the configuration before, a moment ago, holds what it holds now.
func (l *live) present(ctx context.Context, t *turn, caller *sallyport.Caller) *sallyport.Caller {
	if l.callers == nil || caller == nil || caller.Principal.Revision == 0 || caller.Principal.Revision == t.revision {
		return caller
	}
	own := *caller
	own.Principal.Permissions, own.Principal.Personalities = nil, []string{}
	if strings.HasPrefix(caller.Principal.Name, auth.OIDCPrefix) {
		// What its token said of it stands; what was given to everybody may not.
		own.Principal.Permissions = slices.DeleteFunc(slices.Clone(caller.Principal.Permissions), func(permission string) bool {
			return slices.Contains(t.withdrawn, permission)
		})
		own.Principal.Personalities = l.issued()
		return &own
	}
	now, ok, err := l.callers.Named(ctx, caller.Principal.Name)
	if ok && err == nil {
		own.Principal = now
	}
	return &own
}

// issuer is what the configuration in force says of the issuer; nil when it
// names none.
func (l *live) issuer() *config.OIDC {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now.config.Security.OIDC
}

// issued returns the roles that callers of the issuer may take.
func (l *live) issued() []string {
	if o := l.issuer(); o != nil && o.Personalities != nil {
		return o.Personalities
	}
	// Nobody said anything, which is not the same as any.
	return []string{}
}

// resource tells clients of /mcp whose tokens open it.
func (l *live) resource() *auth.Resource {
	return &auth.Resource{
		Path: "/mcp",
		Issuer: func() string {
			if o := l.issuer(); o != nil {
				return o.Issuer
			}
			return ""
		},
		Scopes: l.scopes,
	}
}

// scopes lists the permissions that tools want, where scopes of a token are
// permissions.
func (l *live) scopes() (list []string) {
	o := l.issuer()
	if o == nil || o.PermissionsClaim != "scope" && o.PermissionsClaim != "scp" {
		return nil
	}
	t := l.enter()
	defer l.leave(t)
	for _, tool := range t.registry.Tools() {
		list = append(list, tool.Permissions...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// believed are the tokens of an issuer while the configuration names it.
type believed struct {
	auth.Tokens
	live *live
}

// Principal implements auth.Tokens.
func (b believed) Principal(ctx context.Context, token string) (p sallyport.Principal, ok bool, err error) {
	if b.live.issuer() == nil {
		return p, false, nil
	}
	// Read first: what is read after it may be newer, and is looked at again then.
	revision := b.live.callers.Revision()
	p, ok, err = b.Tokens.Principal(ctx, token)
	p.Revision = revision
	return p, ok, err
}

// Definitions returns what a caller sees.
func (l *live) Definitions(caller *sallyport.Caller) []registry.Definition {
	t := l.enter()
	defer l.leave(t)
	return t.registry.Definitions(l.present(context.Background(), t, caller))
}

// Call decides and makes one call.
func (l *live) Call(ctx context.Context, caller *sallyport.Caller, q sallyport.Request) sallyport.Result {
	t := l.enter()
	defer l.leave(t)
	return t.registry.Call(ctx, l.present(ctx, t, caller), q)
}

// Reject records a call that did not arrive whole.
func (l *live) Reject(ctx context.Context, caller *sallyport.Caller, q sallyport.Request, why string) sallyport.Result {
	t := l.enter()
	defer l.leave(t)
	return t.registry.Reject(ctx, caller, q, why)
}

// List returns what a caller sees, as it was declared.
func (l *live) List(caller *sallyport.Caller) []sallyport.Tool {
	t := l.enter()
	defer l.leave(t)
	return t.registry.List(l.present(context.Background(), t, caller))
}

// Explain says what is decided about a tool before its arguments count.
func (l *live) Explain(caller *sallyport.Caller, tool string) (registry.Explanation, error) {
	t := l.enter()
	defer l.leave(t)
	return t.registry.Explain(l.present(context.Background(), t, caller), tool)
}
