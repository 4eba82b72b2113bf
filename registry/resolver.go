package registry

import (
	"fmt"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// grantResolver computes one grant: declaration ∩ personality, item by item,
// with the reason for everything that is dropped.
type grantResolver struct {
	tool  *sallyport.Tool
	role  *compiledRole
	vars  map[string]string
	at    placeFinder
	grant sallyport.Grant
}

// grantOf computes the grant of a tool under a role. An error is a declaration
// that cannot be read here, such as an empty variable.
func (r *Registry) grantOf(t *sallyport.Tool, ro *compiledRole) (*sallyport.Grant, error) {
	if f := t.Capabilities.FSReach; f != nil && ro.personality != nil && ro.personality.FilesStand(t) {
		r.noteWrites("personality "+ro.name(), f.Write.Paths)
	}
	at := placeFinder{places: r.places(), names: map[string]string{}, first: map[string]string{}}
	g := grantResolver{tool: t, role: ro, vars: r.o.pathVariables(), at: at}
	for i := range group.All() {
		if err := g.resolveGroup(&group.All()[i]); err != nil {
			return nil, err
		}
	}
	return &g.grant, nil
}

// GrantUnder computes the grant that a tool would have under a personality. Neither
// has to be registered, so that an operator learns what a change would give.
func (r *Registry) GrantUnder(t *sallyport.Tool, p *sallyport.Personality) (*sallyport.Grant, error) {
	return r.grantOf(t, r.newCompiledRole(p))
}

func (r *grantResolver) dropItem(capability, item, why, key string) {
	d := sallyport.Dropped{Capability: capability, Item: item, Why: why, Source: r.role.sourceOf(key)}
	if r.role.personality != nil {
		granted, edited := item, item
		if item == group.Everything || item == group.FromPersonality {
			granted, edited = "", "what the tool may reach"
		}
		d.Fix = r.role.addCommand(r.tool, capability, granted, "add "+edited+" to "+r.role.fullKey(key))
	}
	r.grant.Dropped = append(r.grant.Dropped, d)
}

// resolveGroup resolves one group. Of hosts and paths more than two lists
// decide. Of the others the declaration stands, unless a list of the
// personality bounds it; where there is none, what the operator wired is the
// ceiling, and the accessor holds to the declaration.
func (r *grantResolver) resolveGroup(g *group.Group) error {
	c := &r.tool.Capabilities
	if !g.Declared(c) {
		return nil
	}
	switch g.Name {
	case group.Network:
		return r.resolveNetwork()
	case group.Files:
		return r.resolveFiles()
	case group.Process:
		if err := r.resolveExecFrom(c.Process.ExecFrom); err != nil {
			return err
		}
	}
	g.Grant(c, &r.grant)
	for i := range g.Reaches {
		r.boundReach(&g.Reaches[i])
	}
	return nil
}

// boundReach holds a list of the grant to that of the personality.
func (r *grantResolver) boundReach(list *group.Reach) {
	ceiling := &list.Ceiling
	if ceiling.List == nil || r.role.personality == nil {
		return
	}
	allowed := ceiling.List(r.role.personality)
	if allowed == nil {
		r.dropUnbounded(list)
		return
	}
	granted, dropped := list.Meet(list.Declared(&r.tool.Capabilities), allowed)
	ceiling.Set(&r.grant, granted)
	for _, item := range dropped {
		r.dropItem(list.Name, item, fmt.Sprintf(ceiling.Reason, item), ceiling.Key)
	}
}

// dropUnbounded drops a declared "*" of the operator where the personality has no
// list that says what it means.
func (r *grantResolver) dropUnbounded(list *group.Reach) {
	declared := list.Declared(&r.tool.Capabilities)
	own := r.tool.Sources == nil && r.tool.Server() == "" // of the program
	if own || !r.role.personality.DeclarationsStand || !slices.Contains(declared, group.Everything) {
		return
	}
	named := slices.DeleteFunc(slices.Sorted(slices.Values(declared)), func(item string) bool { return item == group.Everything })
	list.Ceiling.Set(&r.grant, named)
	r.dropItem(list.Name, group.Everything, "* means what the personality allows, and it has no "+list.Ceiling.Key, list.Ceiling.Key)
}

// resolveNetwork intersects hosts. Without a network block, or with one that
// has no allow list, exact hosts and wildcards stand and "*" gives nothing.
func (r *grantResolver) resolveNetwork() error {
	n, g := r.tool.Capabilities.Network, &r.grant.Network
	g.ReadOnly = r.tool.ReadOnly
	declared, err := reach.ParseHosts(n.AllowedHosts)
	if err != nil {
		return err
	}
	var policy sallyport.NetworkPolicy
	if p := r.role.personality; p != nil && p.Network != nil {
		policy = *p.Network
	}
	g.Deny, g.AllowPrivate, g.Private, g.AnyAddress = policy.Deny, policy.AllowPrivate, policy.Private, policy.AnyAddress
	private, err := reach.ParseHosts(policy.Private)
	if err != nil {
		return err
	}
	if policy.Allow == nil {
		for _, d := range declared {
			if d.Any() && len(private) > 0 {
				g.Allow = append(g.Allow, policy.Private...)
				continue
			}
			if d.Any() {
				r.dropItem("network", group.Everything, "* means what the personality allows, and it has no network allow list", "safety.network.allow")
				continue
			}
			g.Allow = append(g.Allow, d.String())
		}
		slices.Sort(g.Allow)
		return nil
	}
	allowed, err := reach.ParseHosts(policy.Allow)
	if err != nil {
		return err
	}
	granted, dropped := reach.IntersectHosts(declared, append(allowed, private...))
	for _, p := range granted {
		g.Allow = append(g.Allow, p.String())
	}
	for _, p := range dropped {
		why := fmt.Sprintf("host %q is not in personality network allow list", p)
		if p.Any() {
			why = "* means what the personality allows, and its network allow list is empty"
		}
		r.dropItem("network", p.String(), why, "safety.network.allow")
	}
	return nil
}

func (r *grantResolver) resolveFiles() (err error) {
	f := r.tool.Capabilities.FSReach
	var ceiling sallyport.Reach
	p := r.role.personality
	bounded := p != nil && !p.FilesStand(r.tool)
	if p != nil && p.FSReach != nil {
		ceiling = *p.FSReach
	}
	g := &r.grant.FS
	g.Mode = f.Mode
	if ceiling.Mode == sallyport.FSOverlay && r.tool.Capabilities.Process != nil {
		g.Mode = ceiling.Mode
	}
	if g.Read, err = r.resolvePaths("read", f.Read, ceiling.Read, bounded); err != nil {
		return err
	}
	if g.Write, err = r.resolvePaths("write", f.Write, ceiling.Write, bounded); err != nil {
		return err
	}
	r.dropUngrounded()
	r.recordLinkNames()
	return nil
}

// dropUngrounded drops places for writing that are not known as such: the
// decision about links, here and in every other process, does not reckon with
// them.
func (r *grantResolver) dropUngrounded() {
	g := &r.grant.FS
	g.Write = slices.DeleteFunc(g.Write, func(path string) bool {
		if r.at.places.Place(path).Ground != "" {
			return false
		}
		r.dropItem("fs_reach.write", r.at.spellingOf(path), "that tools may write there could not be kept in the state", "fs_reach.write")
		return true
	})
}

// recordLinkNames records the names of the reach that lead elsewhere by a
// link of the operator, and that of the workspace.
func (r *grantResolver) recordLinkNames() {
	g := &r.grant.FS
	if w := r.vars["workspace"]; w != "" && len(g.Read)+len(g.Write) > 0 {
		r.at.findPlaces([]string{w})
	}
	for name, path := range r.at.names {
		touches := func(granted string) bool { return reach.Within(granted, path) || reach.Within(path, granted) }
		if !slices.ContainsFunc(g.Read, touches) && !slices.ContainsFunc(g.Write, touches) {
			delete(r.at.names, name)
		}
	}
	if len(r.at.names) > 0 {
		g.Names = r.at.names
	}
}

// resolvePaths resolves one direction. Without a bound, for which there is no
// personality or none with a list that counts, an explicit list stands and
// from-personality gives nothing.
func (r *grantResolver) resolvePaths(direction string, l sallyport.PathList, ceiling []string, bounded bool) ([]string, error) {
	key := "fs_reach." + direction
	if l.FromPersonality {
		if len(ceiling) == 0 {
			r.dropItem(key, group.FromPersonality, "the personality has no "+key, key)
		}
		ceiling = r.placesOf(key, ceiling)
		granted, _ := reach.IntersectPaths(ceiling, ceiling)
		return granted, nil
	}
	declared, err := r.declaredPlaces(key, l.Paths)
	if err != nil {
		return nil, err
	}
	if !bounded {
		granted, _ := reach.IntersectPaths(declared, declared)
		return granted, nil
	}
	ceiling, _ = r.at.findPlaces(ceiling)
	granted, dropped := reach.IntersectPaths(declared, ceiling)
	for _, p := range dropped {
		p = r.at.spellingOf(p)
		r.dropItem(key, p, fmt.Sprintf("path %q is not covered by personality %s", p, key), key)
	}
	return granted, nil
}

func (r *grantResolver) declaredPlaces(key string, paths []string) ([]string, error) {
	expanded := make([]string, len(paths))
	for i, path := range paths {
		var err error
		if expanded[i], err = reach.Expand(path, r.vars); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return r.placesOf(key, expanded), nil
}

// placesOf finds the places of paths, and drops those that lead nowhere.
func (r *grantResolver) placesOf(key string, paths []string) []string {
	led, nowhere := r.at.findPlaces(paths)
	for _, path := range paths {
		if p, ok := nowhere[path]; ok {
			r.grant.Dropped = append(r.grant.Dropped, sallyport.Dropped{Capability: key, Item: path, Why: p.Why, Fix: p.Fix, Linked: true})
		}
	}
	return led
}

// resolveExecFrom resolves the write reach that may be executed. What may not
// be written needs no leave here: the files that a child may read and run are
// those of the system and of the toolchains.
func (r *grantResolver) resolveExecFrom(declared []string) error {
	paths, err := r.declaredPlaces("process.execFrom", declared)
	if err != nil {
		return err
	}
	granted, dropped := reach.IntersectPaths(paths, r.grant.FS.Write)
	r.grant.Process.ExecFrom = granted
	for _, path := range dropped {
		path = r.at.spellingOf(path)
		r.dropItem("process.execFrom", path, fmt.Sprintf("path %q is not in the granted fs_reach.write", path), "fs_reach.write")
	}
	return nil
}

// Misfits returns, for each tool that a personality can reach, what it
// declares and would not get, and what this machine cannot confine. Deferred
// items, "*" and from-personality, are no misfits: they mean whatever the
// personality gives.
func (r *Registry) Misfits(personality string) Faults {
	ro := r.roleFor(personality)
	var faults Faults
	for _, e := range r.listEntries(ro.listsEntry) {
		g, err := r.grantOf(&e.tool, ro)
		if err != nil {
			faults = append(faults, Fault{Tool: e.id, Personality: personality, Message: err.Error()})
			continue
		}
		r.dropLinked(g, ro)
		level, err := r.confinementLevel(g)
		if err != nil {
			faults = append(faults, Fault{Tool: e.id, Personality: personality, Capability: "process", Message: err.Error()})
		}
		r.dropNotCreated(g, level, ro)
		for _, d := range g.Dropped {
			if d.Item == group.Everything || d.Item == group.FromPersonality {
				continue
			}
			faults = append(faults, Fault{
				Tool: e.id, Personality: personality, Capability: d.Capability,
				Message: d.Why, Source: d.Source, Fix: d.Fix, Linked: d.Linked,
			})
		}
	}
	return faults
}
