package app

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/subagent"
	"github.com/sallyport/sallyport/internal/uritemplate"
	"github.com/sallyport/sallyport/registry"
)

// explainGone says of a pinned definition that its server does not offer it any more. A
// server that has not answered says nothing of it.
func (t *Deployment) explainGone(server string, kind lock.Kind, isNamed func(*upstream.Left) bool) registry.MissingTool {
	pins := t.Servers.Pins
	pinned, ok := pins.PinnedServer(server)
	offer := t.Servers.ListOffers()[server]
	if !ok || offer == nil {
		return registry.MissingTool{}
	}
	offered := offeredKeys(offer, kind)
	for _, name := range slices.Sorted(maps.Keys(pinned.PinsOf(kind))) {
		if !isNamed(&upstream.Left{Server: server, Kind: kind, Tool: name}) || offered[name] {
			continue
		}
		return registry.MissingTool{
			Why: "the MCP server " + server + " does not offer it any more, and it is pinned",
			Fix: "have the server offer it again; " + pins.acceptCommand(&upstream.Left{Server: server}) + " takes it off the pins",
		}
	}
	return registry.MissingTool{}
}

// offeredKeys returns the names of what a server offers of a kind.
func offeredKeys(o *lock.Offer, kind lock.Kind) map[string]bool {
	lists := map[lock.Kind][]json.RawMessage{
		lock.KindTool: o.Tools, lock.KindPrompt: o.Prompts, lock.KindResource: o.Resources, lock.KindTemplate: o.Templates,
	}
	keys := map[string]bool{}
	for _, raw := range lists[kind] {
		keys[keyOf(kind, raw)] = true
	}
	return keys
}

// maxTemplatesTried bounds the templates with which one URI is compared: each is compiled
// for it, some 50 µs.
const maxTemplatesTried = 200

// resourceServers returns the servers that are known to offer a resource, or to have
// offered it: by their pins, or by what is left out or held back.
func (t *Deployment) resourceServers(uri string) []string {
	known := slices.Concat(t.Servers.Pins.listPinned(lock.KindResource, lock.KindTemplate), t.Servers.missing.listLeft(), t.Servers.Mounts.Quarantined())
	tried := 0
	known = slices.DeleteFunc(known, func(l upstream.Left) bool {
		if l.Kind != lock.KindTemplate {
			return l.Kind != lock.KindResource || l.Tool != uri
		}
		tried++
		return tried > maxTemplatesTried || !coversURI(l.Tool, uri)
	})
	servers := make([]string, len(known))
	for i := range known {
		servers[i] = known[i].Server
	}
	slices.Sort(servers)
	return slices.Compact(servers)
}

// coversURI reports whether a template can expand to a URI. One that cannot be read, or
// that takes too long, covers nothing.
func coversURI(template, uri string) bool {
	t, err := uritemplate.Parse(template)
	return err == nil && t.Cost()*len(uri) <= uritemplate.MaxMatching && t.Match(uri)
}

// ServersFor returns the servers to ask about the ID of a tool, a prompt or a resource.
func (t *Deployment) ServersFor(id string) []string {
	form, name := sallyport.ParseID(id)
	switch server := ServerOf(id); {
	case server != "":
		return []string{server}
	case id == subagent.Name && t.runner != nil:
		return []string{t.runner.server}
	case form == sallyport.FormResource && t.Servers.Mounts != nil:
		return t.resourceServers(name)
	default:
		return nil
	}
}

// listPinned lists what is pinned of some kinds, in the order of the names.
func (p *LockPins) listPinned(kinds ...lock.Kind) (list []upstream.Left) {
	pinned := p.PinnedServers()
	for _, name := range slices.Sorted(maps.Keys(pinned)) {
		server := pinned[name]
		for _, kind := range kinds {
			for _, key := range slices.Sorted(maps.Keys(server.PinsOf(kind))) {
				list = append(list, upstream.Left{Server: name, Kind: kind, Tool: key})
			}
		}
	}
	return list
}

// listLeft lists the definitions that are noted by their names.
func (m *missingTools) listLeft() (list []upstream.Left) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, all := range m.servers {
		for i := range all {
			list = append(list, all[i].Left)
		}
	}
	return list
}
