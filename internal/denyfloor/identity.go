package denyfloor

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// identityLife is how long the list of protected files is used before it is
// made anew. A search through a store of hard links asks once per file.
const identityLife = time.Second

// Bounds of the list: directories of keys are small.
const (
	maxIdentityDirEntries = 256
	identityReason        = "another name of a protected file"
)

// fileIdentities are the protected files that exist, by identity. It belongs to
// one Floor.
type fileIdentities struct {
	mu     sync.Mutex
	listed time.Time
	files  []fs.FileInfo
}

// CheckIdentity reports whether a file with several names is one of the
// protected files: the runtime's own, and the literal entries of the floor in
// the home directory, one level deep. A path cannot tell, so a hard link made
// inside the reach would open them.
func (d *Floor) CheckIdentity(info fs.FileInfo) (reason string, denied bool) {
	if linkCount(info) < 2 {
		return "", false
	}
	for _, p := range d.Linked() {
		if os.SameFile(p, info) {
			return identityReason, true
		}
	}
	return "", false
}

// Linked returns the protected files that have more than one name at present,
// for the sandbox, which has to find the other names: the runtime's own, and the literal
// entries of the floor in the home directory, one level deep. The list is at
// most a second old. The caller must not change it.
func (d *Floor) Linked() []fs.FileInfo {
	d.ids.mu.Lock()
	defer d.ids.mu.Unlock()
	if d.ids.listed.IsZero() || time.Since(d.ids.listed) > identityLife {
		d.ids.files = d.protectedFiles()
		d.ids.listed = time.Now()
	}
	return d.ids.files
}

// protectedFiles lists the protected files that have more than one name; the
// others cannot be what was opened under another one.
func (d *Floor) protectedFiles() []fs.FileInfo {
	var out []fs.FileInfo
	keep := func(path string) (dir bool) {
		info, err := os.Lstat(path)
		if err != nil {
			return false
		}
		if info.Mode().IsRegular() && linkCount(info) > 1 {
			out = append(out, info)
		}
		return info.IsDir()
	}
	keepDir := func(path string) {
		if !keep(path) {
			return
		}
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer f.Close()
		names, _ := f.Readdirnames(maxIdentityDirEntries) // What could be listed counts.
		for _, n := range names {
			keep(filepath.Join(path, n))
		}
	}
	for _, o := range d.own {
		keepDir(o.path)
		for _, s := range sidecars {
			keepDir(o.path + s)
		}
	}
	for _, g := range floorTable {
		for _, p := range g.paths {
			if rel, ok := homeLiteral(p); ok && !g.writeOnly && d.ownHome != "" {
				keepDir(filepath.Join(d.ownHome, rel))
			}
		}
	}
	return out
}

// homeLiteral returns the path in a home directory that a rule names without a
// pattern.
func homeLiteral(p string) (string, bool) {
	rel, ok := strings.CutPrefix(p, "~/")
	if !ok {
		rel, ok = strings.CutPrefix(p, "**/")
	}
	return rel, ok && !strings.Contains(rel, "*")
}
