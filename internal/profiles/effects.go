package profiles

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport/sallyport/internal/definition"
)

// EffectsOf returns what the tools of a package do, by the server's names of them: what
// the profile says when the package is the one that it was read of, else nil.
func (p *Profile) EffectsOf(r Registry, name string) map[string]definition.ToolEffects {
	l := p.Launch()
	if l == nil || name == "" || r == NPM && name != l.NPM || r == PyPI && name != l.PyPI || r != NPM && r != PyPI {
		return nil
	}
	return p.Effects
}

// checkEffects refuses what a declaration of a server refuses, and a tool of which the
// profile says nothing: with its destinations alone, the gate would believe the server's
// own word that the tool only reads.
func (p *Profile) checkEffects(f *faults) {
	if len(p.Effects) == 0 {
		return
	}
	if l := p.Launch(); l == nil || l.URL != "" {
		f.add("effects are those of the tools of a package, and the profile names none")
	}
	var tree any
	text, err := json.Marshal(p.Effects)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		f.add("effects: %w", err)
	}
	var d definition.Decoder
	d.ToolEffects("/effects", tree)
	for _, fault := range d.Faults {
		f.add("%s", fault)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Effects)) {
		if len(p.Effects[name].Does) == 0 {
			f.add("effects: %s needs does", name)
		}
	}
}
