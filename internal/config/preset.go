package config

import (
	"embed"
	"fmt"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// PresetNames returns the names of the presets, from the narrowest to the
// widest. The second one is the default. The caller owns the slice.
func PresetNames() []string { return []string{"locked", "balanced", "open"} }

// DefaultPreset is the preset that is used when none is named.
const DefaultPreset = "balanced"

// Preset returns a commented sallyport.yaml that loads as it is. An unknown
// name is an error that lists the names. The caller owns the bytes.
func Preset(name string) ([]byte, error) {
	for _, known := range PresetNames() {
		if name == known {
			return presetFiles.ReadFile("presets/" + name + ".yaml")
		}
	}
	names := PresetNames()
	return nil, fmt.Errorf("no preset %s%s", yamldoc.Quote(name), yamldoc.AdviseName(name, names, names))
}
