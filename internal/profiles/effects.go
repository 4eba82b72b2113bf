package profiles

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// writeEffects writes what the tools of known servers do, as the page shows it.
func writeEffects(b *strings.Builder) {
	fmt.Fprint(b, `
## What their tools do

Import writes this as `+"`effects`"+` into the declaration, where you change what you see otherwise; see [what a tool does](../guides/arguments.md#what-a-tool-does). It was read of the tools that the
package lists, and is of no other package. A tool that is not here counts by what it may touch. An argument in brackets says where something goes.

| profile | does | tools |
| --- | --- | --- |
`)
	for _, p := range All() {
		tools := map[string][]string{}
		for _, name := range slices.Sorted(maps.Keys(p.Effects)) {
			does := make([]string, len(p.Effects[name].Does))
			for i, e := range p.Effects[name].Does {
				does[i] = string(e)
			}
			what := strings.Join(does, ", ")
			if to := slices.Sorted(maps.Keys(p.Effects[name].Destinations)); len(to) > 0 {
				name += " (" + strings.Join(to, ", ") + ")"
			}
			tools[what] = append(tools[what], "`"+name+"`")
		}
		for _, what := range slices.Sorted(maps.Keys(tools)) {
			fmt.Fprintf(b, "| %s | %s | %s |\n", p.Name, what, strings.Join(tools[what], ", "))
		}
	}
}
