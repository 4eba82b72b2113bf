package app

import (
	"errors"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// registerFound registers the tools of the wanted servers that answered. It
// registers them server by server, so that one refusal affects no other server.
func (t *Deployment) registerFound(wanted func(server string) bool) {
	byName := map[string]*FoundServer{}
	for _, f := range t.Servers.Found {
		if wanted(f.Name) {
			byName[f.Name] = f
		}
	}
	offers := t.Servers.ListOffers()
	conflicts := t.FindConflicts(offers)
	tools, left := t.Servers.Mounts.Tools()
	for i := range tools {
		f := byName[tools[i].Server()]
		if f == nil {
			continue
		}
		if why := conflicts[tools[i].Name]; why != "" && tools[i].Form == sallyport.FormTool {
			left = append(left, upstream.Left{Server: f.Name, Kind: lock.KindTool, Tool: tools[i].Name, Why: why})
			continue
		}
		if err := t.Registry.Register(tools[i]); err != nil {
			left = append(left, upstream.Left{Server: f.Name, Tool: tools[i].Name, Why: refusalReason(err)})
			continue
		}
		f.Tools = append(f.Tools, tools[i].Name)
	}
	t.leaveOut(byName, left, conflicts)
	for _, f := range t.Servers.Found {
		if byName[f.Name] != nil {
			t.warnings = append(t.warnings, f.listWarnings(EveryLeft)...)
			t.Servers.missing.replaceServer(f.Name, t.Servers.Pins.listMissing(f))
		}
	}
	if t.Servers.Pins.File == nil {
		t.warnings = append(t.warnings, "the MCP servers are not pinned: "+t.Servers.Pins.Command("lock")+" pins what you see now")
	}
}

// leaveOut notes with each server the definitions that are not mounted, and how
// an operator can approve them.
func (t *Deployment) leaveOut(byName map[string]*FoundServer, left []upstream.Left, conflicts map[string]string) {
	pins := t.Servers.Pins
	held := pins.listQuarantined(t.Servers.ListOffers())
	for _, l := range left {
		f := byName[l.Server]
		if f == nil {
			continue
		}
		quarantined := held[offeredDefinition{l.Server, l.Kind, l.Tool}]
		var hint, fix string
		if quarantined {
			hint, fix = pins.hintFor(l.Server), pins.acceptCommand(&l)
		}
		name, _ := lock.MapName(l.Server, l.Tool)
		if why := conflicts[name]; quarantined && l.Kind == lock.KindTool && why != "" {
			// A user who does not approve it continues without it.
			l.Why, quarantined = why, false
			fix = pins.commandLine("diff "+l.Server) + " shows it"
		}
		f.missing = append(f.missing, newMissingTool(l, fix))
		l.Tool, l.Why = text.PrintableLine(l.Tool), text.PrintableLine(l.Why+hint)
		f.Left, f.Held = append(f.Left, l), f.Held || quarantined
	}
}

// ListOffers returns what the servers that answered offer, unchanged.
func (s *Servers) ListOffers() map[string]*lock.Offer {
	if s.Mounts == nil {
		return nil
	}
	return s.Mounts.Offers()
}

// refusalReason returns the reason why the registry refuses a tool.
func refusalReason(err error) string {
	faults, ok := errors.AsType[registry.Faults](err)
	if !ok {
		return err.Error()
	}
	why := make([]string, len(faults))
	for i, f := range faults {
		why[i] = f.Message
	}
	return strings.Join(why, "; ")
}

// FindConflicts maps the names under which tools would appear to the reason why
// they cannot stand beside others: tools of other servers, or of this runtime
// where one role sees both. An operator has seen a pinned tool, so it may have
// the bare name of a tool of this runtime.
func (t *Deployment) FindConflicts(offers map[string]*lock.Offer) map[string]string {
	var all []lock.Ref
	out := map[string]string{}
	leave := func(c lock.Conflict) {
		for _, r := range c.Tools {
			s, _ := t.Servers.Pins.PinnedServer(r.Server)
			_, approved := s.Tools[r.Tool]
			if name, err := lock.MapName(r.Server, r.Tool); err == nil && (c.Kind != lock.ConflictShadow || !approved) {
				out[name] = c.Message
			}
		}
	}
	for server, o := range offers {
		refs := t.ownRefs(server)
		for _, raw := range o.Tools {
			if name := keyOf(lock.KindTool, raw); name != "" {
				refs = append(refs, lock.Ref{Server: server, Tool: name})
			}
		}
		for _, c := range lock.Conflicts(refs) {
			leave(c)
		}
		all = append(all, slices.DeleteFunc(refs, func(r lock.Ref) bool { return r.Server == "" })...)
	}
	for _, c := range lock.Conflicts(all) {
		leave(c)
	}
	return out
}

// ownRefs returns the tools of this runtime that are visible to a role which
// also sees the server.
func (t *Deployment) ownRefs(server string) (refs []lock.Ref) {
	for _, role := range t.RolesWith(server) {
		if p, _ := t.Config.Personality(role); !slices.Contains(p.MCPServers, server) {
			continue // it sees no tool of the server by its own name
		}
		for _, tool := range t.Registry.List(localCaller(role, t.Config.Workspace)) {
			if tool.Server() == "" {
				refs = append(refs, lock.Ref{Tool: tool.Name})
			}
		}
	}
	return refs
}
