package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// The files of a folder of data that roles are made of.
const (
	suitesName  = "suites.json.gz"
	effectsName = "effects.json"
)

// suiteWorld is what an operator knows of a suite before an agent works in it: the
// tools, their effects and the clean environment. Roles are made of it alone.
type suiteWorld struct {
	Tools []toolDefinition `json:"tools"`
	// Environment is the world as YAML.
	Environment string `json:"environment"`
	// effects are the labels of the tools by name; a tool without any is
	// irrevocable and outward.
	effects map[string]toolEffects
}

// hasTool reports whether the suite has a tool.
func (w *suiteWorld) hasTool(name string) bool {
	return slices.ContainsFunc(w.Tools, func(t toolDefinition) bool { return t.Name == name })
}

// toolDefinition is what a server says of one of its tools.
type toolDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// toolEffects are the labels that the author of a server gives a tool.
type toolEffects struct {
	Effects []string `json:"effects"`
	// Destinations are the arguments that say where something goes, with the kinds
	// of their values.
	Destinations map[string]string `json:"destinations"`
}

// onlyReads reports whether a tool does nothing but read. One without labels does not.
func (e toolEffects) onlyReads() bool { return len(e.Effects) == 1 && e.Effects[0] == "read" }

// readWorlds reads what roles are made of, and decodes nothing else of the file.
func readWorlds(dir string) (map[string]suiteWorld, error) {
	worlds := map[string]suiteWorld{}
	if err := readPacked(filepath.Join(dir, suitesName), &worlds); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, effectsName))
	if err != nil {
		return nil, err
	}
	var effects map[string]map[string]toolEffects
	if err := json.Unmarshal(text, &effects); err != nil {
		return nil, fmt.Errorf("%s: %w", effectsName, err)
	}
	for name, w := range worlds {
		w.effects = effects[name]
		worlds[name] = w
	}
	return worlds, nil
}

// readPacked reads a JSON file that is packed by gzip.
func readPacked(path string, to any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
