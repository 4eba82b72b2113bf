package lock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/fsx"
)

// serverEntry is a Server as the file holds it.
type serverEntry struct {
	Server
	// CapabilitiesSHA256 is for readers: what it is of stands beside it.
	CapabilitiesSHA256 string `json:"capabilities_sha256"`
}

// fileDocument is a File as it is written.
type fileDocument struct {
	Version int                    `json:"version"`
	Servers map[string]serverEntry `json:"servers"`
}

// Bytes returns the text of the file: JSON with sorted keys, two spaces of
// indentation, and one line for each value, so that a change shows as the
// lines of what changed. Equal files have equal texts. A file that [Parse]
// would refuse is an error.
func (f *File) Bytes() ([]byte, error) {
	doc := fileDocument{Version: Version, Servers: map[string]serverEntry{}}
	for name, s := range f.clone().Servers {
		doc.Servers[name] = serverEntry{s, s.CapabilitiesDigest()}
	}
	// By way of a map every key is sorted, not those of definitions only.
	v, err := toJSONValue(doc)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if _, err := Parse("the file to be written", b.Bytes()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Save writes the file, mode 0644 when it is new: it holds names and what
// servers offer, no secret. One that is there keeps its mode, but for what lets
// everybody write, and a link stays a link to it. Either the whole new text is
// there afterwards or the old one.
func (f *File) Save(path string) (err error) {
	text, err := f.Bytes()
	if err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm() &^ 0o002
	}
	if err := fsx.ReplaceFileMode(path, text, mode); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}
