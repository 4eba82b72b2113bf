package app

import (
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/registry"
)

// VersionChange is what a server or action would get or lose in a role if the file of
// the role had version 2 of the format.
type VersionChange struct {
	// Personality is the name of the role.
	Personality string `json:"personality"`
	// Name is the tool of an action, or those of a server.
	Name string `json:"name"`
	// Gained and Lost are items of a grant, such as "fs_reach.read /srv/docs".
	Gained []string `json:"gained,omitempty"`
	// Lost are items that the grant has now.
	Lost []string `json:"lost,omitempty"`
	// Source is where the role stands.
	Source string `json:"source,omitempty"`
}

// VersionChanges lists what version 2 of the format would change. It is empty for
// files that have it.
func (rt *Runtime) VersionChanges() (list []VersionChange, err error) {
	// A gate of its own, since the places of the one in force are those of version 1.
	r, err := registry.New(nil, &registry.Options{Workspace: rt.InForce().Config.Workspace, Variables: rt.Env.pathVariables(rt.InForce().Config)})
	if err != nil {
		return nil, err
	}
	declared := rt.InForce().declaredTools()
	for _, name := range rt.InForce().Config.Names() {
		p, _ := rt.InForce().Config.Personality(name)
		if p.DeclarationsStand || rt.InForce().Config.Implicit {
			continue
		}
		next := *p
		next.DeclarationsStand = true
		seen := rt.InForce().Registry.List(&sallyport.Caller{Personality: name})
		for i := range declared {
			server, isTool := declared[i].Server(), func(t sallyport.Tool) bool { return t.Name == declared[i].Name }
			if server != "" && !slices.Contains(p.MCPServers, server) || server == "" && !slices.ContainsFunc(seen, isTool) {
				continue
			}
			c := VersionChange{Personality: name, Name: declared[i].Name, Source: p.Source("")}
			if c.Gained, c.Lost, err = compareGrants(r, &declared[i], p, &next); err != nil {
				return nil, err
			}
			if len(c.Gained)+len(c.Lost) > 0 {
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// declaredTools returns the actions, and for each server a tool that stands for all of
// its tools.
func (t *Deployment) declaredTools() (list []sallyport.Tool) {
	for i := range t.Tools {
		if t.Tools[i].Sources != nil {
			list = append(list, t.Tools[i])
		}
	}
	for i := range t.Servers.Declared {
		s := &t.Servers.Declared[i]
		list = append(list, sallyport.Tool{Name: toolsNamed(s.Name), Sources: s.Sources, Capabilities: s.Launch().Capabilities})
	}
	return list
}

// compareGrants lists what a tool gets under one personality and not under the other.
func compareGrants(r *registry.Registry, tool *sallyport.Tool, was, is *sallyport.Personality) (gained, lost []string, err error) {
	before, err := r.GrantUnder(tool, was)
	if err != nil {
		return nil, nil, err
	}
	after, err := r.GrantUnder(tool, is)
	if err != nil {
		return nil, nil, err
	}
	for _, g := range group.All() {
		for _, list := range g.Reaches {
			if list.Granted == nil || list.Denied {
				continue
			}
			had, has := list.Granted(before), list.Granted(after)
			gained = append(gained, missingItems(list.Name, has, had)...)
			lost = append(lost, missingItems(list.Name, had, has)...)
		}
	}
	return gained, lost, nil
}

// missingItems lists the items of one list that another one lacks, with the name of
// what they are items of.
func missingItems(name string, list, other []string) (missing []string) {
	for _, item := range list {
		if !slices.Contains(other, item) {
			missing = append(missing, name+" "+item)
		}
	}
	return missing
}
