package denyfloor

import (
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport"
)

// ownPaths lists the runtime's own paths of a backend.
func ownPaths(b *sallyport.FileBackend) []string { return append(slices.Clip(b.Deny), b.Packages) }

// Package reports whether a clean path is that of an installed package: an
// entry of the folder of packages whose name does not begin with a dot, as
// those of unfinished ones do. The floor covers it all the same; it may be
// shown to a child whose grant names it.
func (d *Floor) Package(path string) bool {
	return filepath.Base(path)[0] != '.' && slices.Contains(d.packages, filepath.Dir(path))
}
