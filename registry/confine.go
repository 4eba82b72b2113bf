package registry

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/tray"
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

// notCreated says of a granted file that it does not exist and stays so.
const notCreated = " is granted and does not exist, and a child cannot create it: "

// dropNotCreated moves the granted files that no child could create at this
// moment from a grant to what was dropped, as dropLinked does.
func (r *Registry) dropNotCreated(g *sallyport.Grant, level sallyport.Level, ro *compiledRole) {
	_, refused := tray.PlanTrays(&g.FS, level)
	for _, f := range refused {
		g.FS.Write = slices.DeleteFunc(slices.Clone(g.FS.Write), func(path string) bool { return path == f.Path })
		g.Dropped = append(g.Dropped, sallyport.Dropped{
			Capability: group.Files + ".write", Item: f.Path, Why: f.Path + notCreated + f.Why,
			Source: ro.sourceOf("fs_reach.write"), Fix: f.Fix, Linked: true,
		})
	}
}

// checkCreation returns why a child of the call could not write a granted path,
// nil when it can.
func (c *call) checkCreation(path string) *sallyport.Decision {
	given := ""
	for name := range c.grant.FS.Names {
		if len(name) > len(given) && reach.Within(name, path) {
			given = name
		}
	}
	place := path
	if given != "" {
		place = filepath.Join(c.grant.FS.Names[given], path[len(given):])
	}
	f := tray.CheckPath(&c.grant.FS, c.level, place)
	if f == nil {
		return nil
	}
	return &sallyport.Decision{
		Step: sallyport.StepAccess, Capability: group.Files + ".write", Resource: path,
		Why: path + notCreated + f.Why, Source: c.role.sourceOf("fs_reach.write"), Fix: f.Fix,
	}
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
