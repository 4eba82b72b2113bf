package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/registry"
)

// CollectMisfits collects the declarations that ask for more than their personality
// grants, and the tools that are listed and of no use.
func CollectMisfits(rt *Runtime) registry.Faults {
	all := registry.Faults{}
	for _, name := range rt.InForce().Config.Names() {
		all = append(all, slices.DeleteFunc(rt.InForce().Registry.Misfits(name), func(m registry.Fault) bool { return ServerOf(m.Tool) != "" })...)
		all = append(all, rt.InForce().MisfitsOf(name)...)
		all = append(all, rt.ceilingMisfits(name)...)
		all = append(all, rt.roleEffectMisfits(name)...)
	}
	all = append(all, rt.serverEffectMisfits()...)
	all = append(all, rt.InForce().knownMisfits()...)
	all = append(all, rt.InForce().anchorMisfits()...)
	all = append(all, rt.uselessTools(all)...)
	return append(all, rt.ProgramFaults()...)
}

// ceilingMisfits returns what is wrong with the ceilings of a role over arguments of the
// tools of servers, which are not there when the configuration is loaded.
func (rt *Runtime) ceilingMisfits(role string) (faults registry.Faults) {
	p, _ := rt.InForce().Config.Personality(role)
	for _, f := range rt.InForce().Registry.CeilingFaults(role) {
		tool, _, _ := strings.Cut(strings.TrimPrefix(f.Key, "arguments."), ".")
		faults = append(faults, registry.Fault{
			Tool: tool, Personality: role, Capability: "arguments", Message: f.Message + ": no call of the tool runs",
			Source: p.Source(f.Key), Fix: "change personalities." + role + "." + f.Key,
		})
	}
	return faults
}

// uselessTools returns a fault for each tool that a role lists by its name and that
// no role could ever use: every call of it would be refused. A label such as @file
// and an absent toolset list what there is, so that they name no tool. A tool with
// another misfit is left out.
func (rt *Runtime) uselessTools(known registry.Faults) (faults registry.Faults) {
	if rt.InForce().Config.Implicit {
		return nil
	}
	tools := rt.InForce().Registry.Tools()
	for i := range tools {
		t := &tools[i]
		// Only a role that names the tool is told: most name none.
		named := func(role string) bool {
			p, _ := rt.InForce().Config.Personality(role)
			return slices.Contains(p.Toolset, t.Name)
		}
		if slices.ContainsFunc(known, func(m registry.Fault) bool { return m.Tool == t.ID() }) || !slices.ContainsFunc(rt.InForce().Config.Names(), named) {
			continue
		}
		var found registry.Faults
		for _, role := range rt.InForce().Config.Names() {
			fault, sees := rt.findUseless(t, role)
			if sees && fault == nil {
				found = nil
				break
			}
			if sees && named(role) {
				found = append(found, *fault)
			}
		}
		faults = append(faults, found...)
	}
	return faults
}

// findUseless reports whether a role sees a tool, and why it could not use it.
func (rt *Runtime) findUseless(t *sallyport.Tool, role string) (fault *registry.Fault, sees bool) {
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: sallyport.LocalPrincipal}, Personality: role}
	x, err := rt.InForce().Registry.Explain(caller, t.ID())
	visible := func(d sallyport.Decision) bool { return d.Step == sallyport.StepVisible && d.Allowed }
	if err != nil || x.Grant == nil || !slices.ContainsFunc(x.Decisions, visible) {
		return nil, false
	}
	for _, capability := range neededCapabilities(t) {
		key, flag, has := describeGrant(x.Grant, capability)
		if has {
			continue
		}
		p, _ := rt.InForce().Config.Personality(role)
		key = group.SpellKey(p, key)
		return &registry.Fault{
			Tool: t.ID(), Personality: role, Capability: capability,
			Message: "every call would be refused: no role that lists it grants anything of " + key,
			Source:  p.Source("toolset"),
			Fix:     fmt.Sprintf("%s, or take %s off personalities.%s.%s", rt.CommandLine("grant "+role+" "+flag), t.Name, role, group.SpellKey(p, "toolset")),
		}, true
	}
	return nil, true
}

// neededCapabilities returns the capabilities without which a tool can do nothing:
// those of what it says that it reaches for, and programs for a tool that starts them.
func neededCapabilities(t *sallyport.Tool) (list []string) {
	for _, touch := range t.Touches {
		list = append(list, touch.Capability)
	}
	if len(list) == 0 && t.Capabilities.Process != nil {
		list = append(list, group.Process)
	}
	return list
}

// describeGrant returns the key of a role that bounds a capability, the flag that
// grants something of it, and whether a grant holds anything of it.
func describeGrant(g *sallyport.Grant, capability string) (key, flag string, has bool) {
	switch capability {
	case group.Network:
		return "safety.network.allow", "--host HOST", len(g.Network.Allow)+len(g.Network.Private) > 0
	case group.Files + ".read":
		return "fs_reach.read", "--read PATH", len(g.FS.Read) > 0
	case group.Files + ".write":
		return "fs_reach.write", "--write PATH", len(g.FS.Write) > 0
	case group.Process:
		return "safety.process.allow", "--bin PROGRAM", len(g.Process.Binaries) > 0
	default:
		return "", "", true
	}
}
