package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/registry"
)

// offeredTool is what a server says of a tool, as far as effects name it.
type offeredTool struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"inputSchema"`
}

// serverEffectMisfits returns a fault for each tool that the effects of a server name and
// that it does not offer, and for each argument that a tool does not have. A server that
// did not answer is not judged.
func (rt *Runtime) serverEffectMisfits() (faults registry.Faults) {
	offers := rt.InForce().Servers.ListOffers()
	for _, f := range rt.InForce().Servers.Found {
		offer := offers[f.Name]
		if f.Why != "" || offer == nil {
			continue
		}
		schemas := map[string]json.RawMessage{}
		for _, raw := range offer.Tools {
			var tool offeredTool
			if json.Unmarshal(raw, &tool) == nil {
				schemas[tool.Name] = tool.Schema
			}
		}
		for _, name := range slices.Sorted(maps.Keys(f.Effects)) {
			tool, err := lock.MapName(f.Name, name)
			if err != nil {
				tool = name
			}
			pointer := definition.Below("/effects", name)
			for _, message := range effectFaults(name, f.Effects[name].Destinations, schemas) {
				faults = append(faults, registry.Fault{
					Tool: tool, Capability: "effects", Message: message, Source: f.Part.Source(pointer),
					Fix: "change mcp_servers." + f.Name + ".effects",
				})
			}
		}
	}
	return faults
}

// roleEffectMisfits is serverEffectMisfits for what a role says of the tools of servers.
func (rt *Runtime) roleEffectMisfits(role string) (faults registry.Faults) {
	p, _ := rt.InForce().Config.Personality(role)
	schemas := map[string]json.RawMessage{}
	tools := rt.InForce().Registry.Tools()
	for i := range tools {
		schemas[tools[i].ID()] = tools[i].Schema
	}
	for _, f := range rt.InForce().Servers.Found {
		for _, l := range f.Left {
			if name, err := lock.MapName(f.Name, l.Tool); err == nil {
				schemas[name] = nil // it may be accepted later
			}
		}
	}
	named := maps.Clone(p.Effects)
	for name := range p.Destinations {
		if named == nil {
			named = map[string][]sallyport.Effect{}
		}
		named[name] = nil
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if server := ServerOf(name); server == "" && schemas[name] == nil || server != "" && !rt.InForce().Servers.answers(server) {
			continue // a name that is unknown stops the start
		}
		for _, message := range effectFaults(name, p.Destinations[name], schemas) {
			faults = append(faults, registry.Fault{
				Tool: name, Personality: role, Capability: "effects", Message: message,
				Source: p.Source("effects." + name), Fix: "change personalities." + role + ".effects",
			})
		}
	}
	return faults
}

// answers reports whether a server was asked what it offers, and answered.
func (s *Servers) answers(name string) bool {
	return slices.ContainsFunc(s.Found, func(f *FoundServer) bool { return f.Name == name && f.Why == "" && f.Role != "" })
}

// effectFaults says what is wrong with what is said of a tool, among those with schemas.
func effectFaults(name string, destinations map[string]sallyport.ValueKind, schemas map[string]json.RawMessage) (messages []string) {
	schema, ok := schemas[name]
	if !ok {
		text := "there is no such tool, so that this says nothing"
		if near := yamldoc.Suggest(name, slices.Collect(maps.Keys(schemas))); near != "" {
			text += fmt.Sprintf(": did you mean %q?", near)
		}
		return []string{text}
	}
	if schema == nil {
		return nil
	}
	for _, path := range definition.UnknownArguments(schema, destinations) {
		messages = append(messages, fmt.Sprintf("destinations names %q, and the tool has no such argument", path))
	}
	return messages
}
