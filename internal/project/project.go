// Package project writes the files with which a project begins to use the gate:
// the configuration, a line for git, and the schema that editors read.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
)

// stateFolder is the folder of the presets for state and key, and of the schema.
// It lies beside the configuration.
const stateFolder = ".sallyport"

// SchemaFile is where the schema lies, seen from the configuration. The first
// line of each preset names it to editors.
const SchemaFile = stateFolder + "/schema.json"

// Started names what was written. Empty names stand for files that were left as
// they are.
type Started struct {
	// Config is the configuration.
	Config string `json:"file"`
	// Ignore is the .gitignore that got a line.
	Ignore string `json:"gitignore,omitempty"`
	// Schema is the JSON Schema of the configuration.
	Schema string `json:"schema,omitempty"`
}

// Start writes a preset to a new file, a line for the folder of state and key
// to the .gitignore beside it, and the schema. Where .gitignore cannot be read,
// or the configuration exists, nothing is written.
func Start(path, preset string) (*Started, error) {
	text, err := config.Preset(preset)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s: make it first, or give --config another path", dir)
	}
	ignore, err := planIgnore(dir, stateFolder)
	if err != nil {
		return nil, fmt.Errorf("nothing was written: %w", err)
	}
	if err := fsx.WriteNew(path, text); err != nil {
		return nil, err
	}
	s := &Started{Config: path}
	if ignore != nil {
		if err := writeIgnore(dir, ignore); err != nil {
			return s, err
		}
		s.Ignore = filepath.Join(dir, ignoreName)
	}
	if s.Schema, err = WriteSchema(dir); err != nil {
		return s, fmt.Errorf("%s was written, but the schema for editors was not: %w", path, err)
	}
	return s, nil
}

// WriteSchema writes the schema into the folder of state and key, which is for
// its owner alone. It follows no link and writes into no folder that is one.
func WriteSchema(dir string) (string, error) {
	text, err := config.Schema()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(dir, stateFolder)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
		return "", errors.Join(err, fmt.Errorf("%s is not a folder", folder))
	}
	path := filepath.Join(dir, filepath.FromSlash(SchemaFile))
	return path, fsx.ReplaceFile(path, text)
}
