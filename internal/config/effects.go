package config

import (
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// effectKeys say what tools do in the eyes of a role.
func effectKeys() []row {
	return []row{{
		set: func(s *scope, v value) { s.p.Effects, s.p.Destinations = v.effects, v.destinations },
		KeyDoc: KeyDoc{
			personalityKey + ".effects", TypeEffects, false, true, "what the tools declare",
			"What tools do, by their names, and which of their arguments say where something goes, in place of what they declare; see [what a tool does](../guides/arguments.md#what-a-tool-does).",
			"{send_mail: {does: [outward], destinations: {to: mail}}}",
		},
	}}
}

// readEffects reads what tools do. Whether there are such tools is judged where they are
// known.
func (s scope) readEffects(r *row, key string, n *yamldoc.Value) {
	v := value{effects: map[string][]sallyport.Effect{}, destinations: map[string]map[string]sallyport.ValueKind{}}
	seen := map[string]yamldoc.Position{}
	for _, f := range n.Fields {
		full := joinKey(key, f.Name)
		if s.reportDuplicate(seen, f, full) || f.Value.Kind == yamldoc.KindOpaque {
			continue
		}
		if !nameOK(f.Name) {
			s.keyFault(s.file, f.At, full, "%s: %s is not the name of a tool: expected %s", full, yamldoc.Quote(f.Name), nameForm)
			continue
		}
		if !s.expectKind(r, full, f.Value, yamldoc.KindMapping) {
			continue
		}
		s.recordPlaces(full, f)
		parts := map[string]yamldoc.Position{}
		for _, part := range f.Value.Fields {
			at := joinKey(full, part.Name)
			switch {
			case s.reportDuplicate(parts, part, at):
			case part.Name == "does":
				v.effects[f.Name] = s.readDoes(r, at, part.Value)
			case part.Name == "destinations":
				v.destinations[f.Name] = s.readDestinations(r, at, part.Value)
			default:
				s.keyFault(s.file, part.At, at, "%s: unknown key: expected does and destinations", at)
			}
		}
	}
	s.storeValue(r, v)
}

// readDoes reads a list of effects.
func (s scope) readDoes(r *row, key string, n *yamldoc.Value) (list []sallyport.Effect) {
	if !s.expectKind(r, key, n, yamldoc.KindList) {
		return nil
	}
	for _, item := range n.Items {
		e := sallyport.Effect(item.Text)
		if item.Kind != yamldoc.KindText || !slices.Contains(effect.All(), e) || slices.Contains(list, e) {
			s.addFault(s.file, item.At, key, "%s: expected each of read, revocable, irrevocable, outward and spending at most once", key)
			return nil
		}
		list = append(list, e)
	}
	if len(list) == 0 || slices.Contains(list, effect.Read) && len(list) > 1 {
		s.addFault(s.file, n.At, key, "%s: expected read alone, or at least one of the other effects", key)
	}
	return list
}

// readDestinations reads which arguments say where something goes.
func (s scope) readDestinations(r *row, key string, n *yamldoc.Value) map[string]sallyport.ValueKind {
	kinds := map[string]sallyport.ValueKind{}
	if !s.expectKind(r, key, n, yamldoc.KindMapping) {
		return kinds
	}
	seen := map[string]yamldoc.Position{}
	for _, f := range n.Fields {
		at := joinKey(key, f.Name)
		if s.reportDuplicate(seen, f, at) {
			continue
		}
		kinds[f.Name] = sallyport.ValueKind(f.Value.Text)
		if f.Value.Kind != yamldoc.KindText || !slices.Contains(effect.Kinds(), kinds[f.Name]) {
			s.addFault(s.file, f.Value.At, at, "%s: expected one of mail, host, url, account, path, user, name and text", at)
		}
	}
	return kinds
}
