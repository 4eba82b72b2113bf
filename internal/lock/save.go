package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	return replaceFile(path, text, mode)
}

// replaceFile writes a new file beside the old one and renames it.
func replaceFile(path string, text []byte, mode os.FileMode) (err error) {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("lock: %w", err), os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	// The new name is on the disk when its directory is. Where directories
	// cannot be synced, the rename has happened all the same.
	if d, openErr := os.Open(dir); openErr == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}
