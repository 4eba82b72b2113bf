package survey

import (
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
)

// maskOwn names the paths of the runtime in the write reach at which nothing lies,
// and which nothing may be put at: a later start would read it as the operator's.
func (w *walker) maskOwn() error {
	for _, path := range w.floor.Own() {
		root := w.writeRootOf(path)
		if root == "" || !isLinkFree(filepath.Dir(path)) {
			continue // Another spelling of the path has no links.
		}
		switch h, there, err := w.statHit(path); {
		case err != nil:
			return err
		case !there:
			w.addMask(Mask{
				Path: path, Dir: w.floor.OwnFolder(path), Missing: true, Repository: root,
				Class: denyfloor.Absolute, Why: denyfloor.OwnReason(),
			})
		case !h.link:
			w.setRepository(path, root) // It may be the placeholder of another child.
		}
	}
	return nil
}

// writeRootOf returns the outermost path of the write reach around a path; empty
// when there is none.
func (w *walker) writeRootOf(path string) (root string) {
	for _, r := range w.write {
		if r != path && reach.Within(r, path) && (root == "" || len(r) < len(root)) {
			root = r
		}
	}
	return root
}

// isLinkFree reports whether no link lies in the part of a directory's path that
// exists.
func isLinkFree(dir string) bool {
	for {
		if _, err := os.Lstat(dir); err == nil {
			real, err := filepath.EvalSymlinks(dir)
			return err == nil && real == dir
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}
