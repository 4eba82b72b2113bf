package granting

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// loadResult loads the configuration with the new texts, brings the lock file up to
// it, and completes the plan.
func (p *planner) loadResult(plan *Plan, texts map[string][]byte) (err error) {
	env := *p.rt.Env
	env.Texts = texts
	next, err := app.OpenForView(p.ctx, &env, p.paths)
	if err != nil {
		return fmt.Errorf("the result would not load, so that nothing was changed: %w", err)
	}
	defer func() { err = errors.Join(err, next.Close()) }()
	plan.Warnings = append(plan.Warnings, newMisfits(p.rt, next)...)
	if !plan.revoke {
		plan.Warnings = append(plan.Warnings, listLinked(p.items)...)
	}
	if plan.revoke && p.target.kind != targetRole {
		plan.Warnings = append(plan.Warnings, p.listKept()...)
	}
	if p.target.kind == targetServer {
		if err := p.changeLock(plan, next); err != nil {
			return err
		}
	}
	if p.target.kind != targetRole && len(p.target.roles) == 0 && !plan.revoke {
		plan.Warnings = append(plan.Warnings, "no role lists the "+p.target.kind+" "+p.target.name+" yet")
	}
	for _, f := range plan.files {
		plan.Difference += differenceOf(f)
	}
	return nil
}

// newMisfits lists the tools that do not fit their roles any more.
func newMisfits(rt, next *app.Runtime) (list []string) {
	known := app.CollectMisfits(rt)
	for _, m := range app.CollectMisfits(next) {
		if !slices.ContainsFunc(known, func(k registry.Fault) bool { return k.String() == m.String() }) {
			list = append(list, "misfit "+m.String())
		}
	}
	return list
}

// listKept says which roles go on listing what is taken off a declaration: a grant for
// a server or tool widens its role, too, and the other tools of the role keep that.
func (p *planner) listKept() (list []string) {
	for _, role := range p.target.roles {
		flags := ""
		for _, item := range p.items {
			entries, bounded := p.target.roleList(role, item.kind)
			if bounded && slices.Contains(p.resolveAll(item.kind, entries), item.resolved) {
				flags += " --" + string(item.kind) + " " + text.ShellWord(item.text)
			}
		}
		if flags != "" {
			command := p.rt.ShortCommand("revoke " + text.ShellWord(role.Name) + flags)
			list = append(list, "other tools of the role "+role.Name+" may still touch this: "+command)
		}
	}
	return list
}

// changeLock adds the lock file to a plan when the server is pinned.
func (p *planner) changeLock(plan *Plan, next *app.Runtime) error {
	pins := p.rt.InForce().Servers.Pins
	file, err := pinDeclared(p.rt, next, pins.File, p.target.name)
	if err != nil || file == pins.File {
		return err
	}
	change, err := lockChange(pins, file)
	switch {
	case err != nil:
		return err
	case string(change.Old) == string(change.New):
	case plan.revoke:
		plan.files = append(plan.files, change)
	default:
		// A running server that reads the files in between finds a pin that allows
		// more than is declared, not less.
		plan.files = append([]onestep.Change{change}, plan.files...)
	}
	return nil
}

// pinDeclared returns a lock file with what a server may touch as the next configuration
// declares it, or the file itself when the server is not pinned. What differs from the
// pin for another reason has to be accepted first.
func pinDeclared(rt, next *app.Runtime, file *lock.File, server string) (*lock.File, error) {
	pins := rt.InForce().Servers.Pins
	if _, pinned := pins.PinnedServer(server); !pinned {
		return file, nil
	}
	if why := pins.CheckDeclared(server); why != "" {
		return nil, fmt.Errorf("the declaration of %s is not what is pinned: %s. Look at it first: %s", server, why, rt.ShortCommand("lock accept "+server))
	}
	now, stand := next.InForce().Servers.Pins.Servers[server].Capabilities()
	return file.WithCapabilities(server, now, stand)
}

// lockChange returns the change of the lock file to another text.
func lockChange(pins *app.LockPins, file *lock.File) (c onestep.Change, err error) {
	c.Path = pins.Path
	if c.New, err = file.Bytes(); err != nil {
		return c, err
	}
	c.Old, err = os.ReadFile(pins.Path)
	return c, err
}
