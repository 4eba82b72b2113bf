package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/scoped"
)

// decodeArgs reads the arguments once, strictly. Everything after it works on
// what was decoded here. A tool that is known lends its schema, so that the
// text is looked at once.
func (c *call) decodeArgs() bool {
	parse := schema.Parse
	if c.entry != nil {
		parse = c.entry.args.Parse
	}
	doc, err := parse(c.q.Args)
	if err != nil {
		return c.refuse(sallyport.Decision{Step: sallyport.StepDecode, Why: err.Error()},
			sallyport.CodeInputInvalid, err.Error())
	}
	c.doc = doc
	return c.allowStep(sallyport.StepDecode)
}

// findTool refuses a call to a tool that is not registered, or by a caller
// who is not known.
func (c *call) findTool() bool {
	d := sallyport.Decision{Step: sallyport.StepFind}
	switch {
	case c.late:
		d.Why = "the registry is closed"
		return c.refuse(d, sallyport.CodeNotAvailable, "The gate is shutting down")
	case c.caller.Principal.Name == "":
		d.Why = "the edge named no principal"
		return c.refuse(d, sallyport.CodePermissionDenied, "Permission denied: the caller is not known")
	case c.entry == nil && c.expectedReason() != "":
		d.Why = c.expectedReason()
		return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not currently available")
	case c.entry == nil:
		d.Why = "no tool of this name is registered"
		return c.refuse(d, sallyport.CodeNotAvailable, "Unknown tool: "+c.q.Tool)
	}
	return c.allowStep(sallyport.StepFind)
}

// expectedReason says why the tool of the call may be there soon.
func (c *call) expectedReason() string {
	if c.r.o.Expected == nil {
		return ""
	}
	return c.r.o.Expected(c.q.Tool)
}

// assumeRole finds the role of the call, and refuses a caller whose principal
// may not take it.
func (c *call) assumeRole() bool {
	c.role = c.r.roleFor(c.caller.Personality)
	p := &c.caller.Principal
	if mayAssumeRole(p, c.caller.Personality) {
		return true
	}
	d := sallyport.Decision{
		Step: sallyport.StepVisible,
		Why:  fmt.Sprintf("principal %s may not take personality %q", p.Name, c.caller.Personality),
		Fix:  fmt.Sprintf("add %s to principals.%s.personalities", c.caller.Personality, p.Name),
	}
	return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not permitted for this personality")
}

// checkVisible refuses a tool that the role or the surface does not offer.
func (c *call) checkVisible() bool {
	d := c.role.decideVisible(&c.entry.tool, c.caller.Exclude)
	if d.Allowed {
		return c.allowStep(sallyport.StepVisible)
	}
	text := "Tool " + c.q.Tool + " is not permitted for this personality"
	if isExcluded(&c.entry.tool, c.caller.Exclude) {
		text = "Tool " + c.q.Tool + " is not available on this surface"
	}
	return c.refuse(d, sallyport.CodeNotAvailable, text)
}

// checkReady refuses a tool that says that it cannot work now.
func (c *call) checkReady() bool {
	if d, said := c.r.checkAvailability(c.entry); !d.Allowed {
		text := "Tool " + c.q.Tool + " is not currently available"
		if said {
			text += ": " + d.Why
		}
		return c.refuse(d, sallyport.CodeNotAvailable, text)
	}
	return c.allowStep(sallyport.StepReady)
}

// checkBackends refuses a tool that lacks a backend.
func (c *call) checkBackends() bool {
	if len(c.entry.missing) == 0 {
		return true
	}
	d := sallyport.Decision{
		Step: sallyport.StepBackends,
		Why:  "no backend is wired for " + strings.Join(c.entry.missing, ", "),
	}
	return c.refuse(d, sallyport.CodeNotAvailable,
		"Tool "+c.q.Tool+" declares capabilities but no capability backends are configured")
}

// checkPermissions refuses a principal that lacks a permission of the tool.
func (c *call) checkPermissions() bool {
	for _, p := range c.entry.tool.Permissions {
		if !slices.Contains(c.caller.Principal.Permissions, p) {
			d := sallyport.Decision{
				Step:   sallyport.StepPermit,
				Why:    fmt.Sprintf("principal %s does not hold %s", c.caller.Principal.Name, p),
				Source: c.entry.tool.Source("permissions"),
				Fix:    fmt.Sprintf("add %s to principals.%s.permissions", p, c.caller.Principal.Name),
			}
			return c.refuse(d, sallyport.CodePermissionDenied,
				"Permission denied: "+c.q.Tool+" requires "+p)
		}
	}
	return c.allowStep(sallyport.StepPermit)
}

// validateArgs checks the arguments against the schema and fills in defaults.
func (c *call) validateArgs() bool {
	if err := c.entry.args.Check(&c.doc); err != nil {
		return c.refuse(sallyport.Decision{Step: sallyport.StepValidate, Why: err.Error()},
			sallyport.CodeInputInvalid, err.Error())
	}
	return true
}

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

// grantBackends are those of the accessors.
func (r *Registry) grantBackends() *sallyport.Backends {
	b := r.backends
	b.Places = r.places()
	return &b
}
