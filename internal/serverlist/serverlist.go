// Package serverlist lists the servers of a user that run on this machine, so
// that a command finds their configuration and state from any folder, and where
// they listen, so that no tool of any of them connects there.
//
// A server calls [Add] and holds a lock on its entry while it runs. [List]
// returns the entries that are locked, and [Listeners] lists the listeners. The
// folder is the user's alone, and is on the floor that no grant reaches.
package serverlist

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/fsx"
)

const (
	// maxEntry bounds one entry, in bytes: some paths.
	maxEntry = 64 << 10
	// maxEntries bounds how many entries are read.
	maxEntries = 1000
	// newPrefix begins the name of an entry that is being written.
	newPrefix = ".new-"
)

// Entry is a server that runs, or one listener of a process.
type Entry struct {
	// PID is the process.
	PID int `json:"pid"`
	// Dir is the folder in which it was started; empty for a listener.
	Dir string `json:"dir,omitempty"`
	// Config lists its configuration files, absolute; empty without one.
	Config []string `json:"config,omitempty"`
	// Listens is the address of a listener.
	Listens netip.AddrPort `json:"listens,omitzero"`
}

// FolderOf returns the folder of the entries of a user; empty when the user has
// no home.
func FolderOf(lookup func(name string) (string, bool), home string) string {
	if state, _ := lookup("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "sallyport", "servers")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".local", "state", "sallyport", "servers")
}

// Add lists a server until remove is called or the process ends.
func Add(folder string, e Entry) (remove func() error, err error) {
	if folder == "" {
		return nil, errors.New("the user has no home folder")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if !isPrivate(folder) {
		return nil, fmt.Errorf("%s is not a folder that only this user can write", folder)
	}
	file, err := os.CreateTemp(folder, newPrefix+"*")
	if err != nil {
		return nil, err
	}
	// Not a name that another entry had: a reader that removes that one would
	// remove this one.
	path := filepath.Join(folder, fmt.Sprintf("%d-%s.json", e.PID, strings.TrimPrefix(filepath.Base(file.Name()), newPrefix)))
	text, err := json.Marshal(e)
	if err == nil {
		_, err = file.Write(text)
	}
	if err == nil {
		// Before the entry has its name, so that none is seen without its lock.
		err = fsx.TakeLock(file)
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(file.Name()), file.Close())
	}
	return func() error { return errors.Join(os.Remove(path), file.Close()) }, nil
}

// List returns the servers that run, in the order of their folders. It removes entries
// whose server has ended.
func List(folder string) ([]Entry, error) {
	if folder == "" || !isPrivate(folder) {
		return nil, nil
	}
	var out []Entry
	err := eachEntry(folder, func(e Entry, err error) error {
		if err == nil && filepath.IsAbs(e.Dir) {
			out = append(out, e)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Dir, b.Dir) })
	return out, err
}

// eachEntry gives the entries whose process runs to a function, and those that
// cannot be read with an error, until the function returns one.
func eachEntry(folder string, visit func(Entry, error) error) error {
	names, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n os.DirEntry) bool { return !strings.HasSuffix(n.Name(), ".json") })
	for _, n := range names[:min(len(names), maxEntries)] {
		e, runs, err := readEntry(filepath.Join(folder, n.Name()))
		if !runs && err == nil {
			continue
		}
		if err := visit(e, err); err != nil {
			return err
		}
	}
	if len(names) > maxEntries {
		return visit(Entry{}, fmt.Errorf("%s has more than %d entries", folder, maxEntries))
	}
	return nil
}

// readEntry reads the entry of a process, and reports whether that runs.
func readEntry(path string) (e Entry, runs bool, err error) {
	file, err := fsx.OpenLock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return e, false, nil
	}
	if err != nil {
		return e, false, err
	}
	defer file.Close()
	if !isHeld(file) {
		// Its process has ended, by whatever end.
		_ = os.Remove(path)
		return e, false, nil
	}
	text, err := io.ReadAll(io.LimitReader(file, maxEntry))
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return e, true, err
}
