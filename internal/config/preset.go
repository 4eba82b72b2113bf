package config

import (
	"embed"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// PresetNames returns the names of the presets: those for one person, from the
// narrowest to the widest, and the one for a server that a team shares. The
// second one is the default. The caller owns the slice.
func PresetNames() []string { return []string{"locked", "balanced", "open", TeamPreset} }

// DefaultPreset is the preset that is used when none is named.
const DefaultPreset = "balanced"

// TeamPreset is the preset for a server that a team shares. It has to be
// completed.
const TeamPreset = "team"

// Preset returns a commented sallyport.yaml that loads as it is. An unknown
// name is an error that lists the names. The caller owns the bytes.
func Preset(name string) ([]byte, error) {
	names := PresetNames()
	if slices.Contains(names, name) {
		return presetFiles.ReadFile("presets/" + name + ".yaml")
	}
	return nil, fmt.Errorf("no preset %s%s", yamldoc.Quote(name), yamldoc.AdviseName(name, names, names))
}
