package config

import (
	"encoding/json"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// argumentsKey is the key of the ceilings over arguments.
const argumentsKey = personalityKey + ".arguments"

// argumentKeys are the ceilings of a role over the arguments of tools.
func argumentKeys() []row {
	return []row{{set: func(s *scope, v value) { s.p.Arguments = v.ceilings }, KeyDoc: KeyDoc{
		argumentsKey, TypeArguments, false, true, "what the tools declare",
		"Ceilings over the arguments of tools by name, label, server or `*`, with the words in [arguments](../guides/arguments.md); `false` permits no call.",
		"{send_money: {amount: {maximum: 500}, recipient: {known: payees, else: hold}}}",
	}}}
}

// readArguments reads ceilings over arguments. What they say is judged where the tools
// are known.
func (s scope) readArguments(r *row, key string, n *yamldoc.Value) {
	ceilings := map[string]json.RawMessage{}
	seen := map[string]yamldoc.Position{}
	for _, f := range n.Fields {
		full := joinKey(key, f.Name)
		if s.reportDuplicate(seen, f, full) || f.Value.Kind == yamldoc.KindOpaque {
			continue
		}
		if _, err := s.ruledTool(f.Name); err != nil {
			s.keyFault(s.file, f.At, full, "%s: %v", full, err)
			continue
		}
		if f.Value.Kind != yamldoc.KindMapping && f.Value.Kind != yamldoc.KindBool {
			s.addFault(s.file, f.Value.At, full, "%s: expected a mapping of arguments, true or false, found %s", full, f.Value.Kind)
			continue
		}
		s.recordPlaces(full, f)
		part, ok := s.readPart("ceiling", full, f.Value, shownOfArguments(f.Value))
		if !ok {
			continue
		}
		ceilings[f.Name] = part.JSON
	}
	s.storeValue(r, value{ceilings: ceilings})
}

// recordPlaces remembers where the words of a ceiling stand.
func (s scope) recordPlaces(key string, f yamldoc.Field) {
	s.recordPosition(key, f.At)
	for _, sub := range f.Value.Fields {
		if checkKey(sub.Name) == "" {
			s.recordPlaces(joinKey(key, sub.Name), sub)
		}
	}
}

// shownOfArguments lists the arguments of a ceiling: no value of one is a secret.
func shownOfArguments(n *yamldoc.Value) (names []string) {
	for _, f := range n.Fields {
		names = append(names, f.Name)
	}
	return names
}
