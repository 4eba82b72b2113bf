package registry

import (
	"cmp"
	"errors"
	"strings"

	"github.com/sallyport/sallyport"
)

// checkConfinement asks the process runner at which level the children of
// this call would run, and refuses a call that it cannot confine. A machine
// that cannot hold them to the grant has no backend for it: the tool never
// runs with less. Tools that start nothing pay nothing.
func (c *call) checkConfinement() bool {
	if c.entry.tool.Capabilities.Process == nil {
		return c.allowStep(sallyport.StepBackends)
	}
	scope, err := c.r.scopeFor(c.entry, c.role)
	if err != nil {
		return c.allowStep(sallyport.StepBackends) // what grants are refused for is told where they are
	}
	level, err := c.r.confinementLevel(scope.Grant())
	if err == nil {
		c.level = level
		return c.allowStep(sallyport.StepBackends)
	}
	d := sallyport.Decision{Step: sallyport.StepBackends, Capability: "process", Why: err.Error()}
	text := "Tool " + c.q.Tool + " is not currently available"
	// A coded error was written for the caller; what a driver says is not.
	if e, ok := errors.AsType[*sallyport.Error](err); ok && e.Detail != "" {
		text += ": " + e.Detail
	} else {
		c.logFault("confinement", err)
	}
	return c.refuse(d, sallyport.CodeNotAvailable, text)
}

// confinementLevel returns the level at which children with a grant run; it
// is empty when the grant has no binaries.
func (r *Registry) confinementLevel(g *sallyport.Grant) (sallyport.Level, error) {
	if len(g.Process.Binaries) == 0 || r.backends.Process == nil {
		return "", nil
	}
	return r.backends.Process.Confines(g)
}

// recordedLevel returns the level of confinement for the record: the weakest
// at which a child ran, else the one that held for the children that might
// have.
func (c *call) recordedLevel() sallyport.Level {
	return cmp.Or(c.binder.Level(), c.level, c.r.o.Level)
}

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
