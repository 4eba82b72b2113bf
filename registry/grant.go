package registry

import (
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped"
)

// resolveGrant finds the grant. It is computed once per tool and personality
// and shared by calls, with the accessors' compiled policies.
func (c *call) resolveGrant() bool {
	scope, err := c.r.scopeFor(c.entry, c.role)
	if err != nil {
		c.logFault("grant", err)
		return c.refuse(sallyport.Decision{Step: sallyport.StepGrant, Why: err.Error()},
			sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not currently available")
	}
	c.scope, c.grant = scope, scope.Grant()
	c.r.runs.setScope(&c.entered, scope)
	c.reviewReplaced(&c.entered)
	return c.allowStep(sallyport.StepGrant)
}

// compiledScope is the compiled grant of a tool under a role, and the
// revision of the places by which it was computed.
type compiledScope struct {
	scope    *scoped.Scope
	revision uint64
}

// scopeFor returns the compiled grant of a tool under a role, compiled again
// when paths may lead elsewhere than before.
func (r *Registry) scopeFor(e *toolEntry, ro *compiledRole) (*scoped.Scope, error) {
	revision := r.places().Revision()
	v, found := ro.scopes.Load(e)
	if found && v.(*compiledScope).revision == revision {
		return v.(*compiledScope).scope, nil
	}
	g, err := r.grantOf(&e.tool, ro)
	if err != nil {
		return nil, err
	}
	fresh, err := scoped.New(e.id, g, r.grantBackends())
	if err != nil {
		return nil, err
	}
	next := &compiledScope{fresh, revision}
	if !found {
		if v, taken := ro.scopes.LoadOrStore(e, next); taken {
			fresh.Close()
			return v.(*compiledScope).scope, nil
		}
		return fresh, nil
	}
	if !ro.scopes.CompareAndSwap(e, v, next) {
		fresh.Close()
		return r.scopeFor(e, ro)
	}
	// Calls may still run in the one before.
	ro.retireScope(v.(*compiledScope).scope)
	return fresh, nil
}

func (r *Registry) grantBackends() *sallyport.Backends {
	b := r.backends
	b.Places = r.places()
	return &b
}
