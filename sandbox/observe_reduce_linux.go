package sandbox

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
)

// maxSiblings is how many entries of one folder are named one by one. Beyond
// it the folder itself is named: a program that used four of its files uses others
// with another input.
const maxSiblings = 3

// rootReducer makes short lists of roots out of many paths.
type rootReducer struct {
	// work and home are the folders that a declaration has a word for.
	work, home string
}

// tooWide says why a folder is never proposed; empty when it may be. A folder
// of the first level belongs to the system, not to a project.
func (r *rootReducer) tooWide(dir string) string {
	const advice = ": declare a part of it"
	switch {
	case dir == r.work:
		return ""
	case dir == "/":
		return "a child has a root of its own" + advice
	case r.home != "" && reach.Within(dir, r.home):
		return "a home, or a folder above it, is never proposed" + advice
	case reach.Within(dir, r.work):
		return "a folder above the workspace is never proposed" + advice
	case filepath.Dir(dir) == "/":
		return "a folder at the root is never proposed" + advice
	case dir == "/var/tmp", dir == "/dev/shm":
		return "a shared folder for temporary files is never proposed" + advice
	}
	return ""
}

// reduce returns the roots that cover the paths and what it left out with the
// reason, both sorted.
func (r *rootReducer) reduce(paths map[string]pathUse) (roots []string, wide map[string]string) {
	set := map[string]bool{} // path → covers what is below it
	wide = map[string]string{}
	for path, u := range paths {
		if why := r.tooWide(path); u.dir && why != "" {
			wide[path] = why
			continue
		}
		set[path] = u.dir
	}
	// The deepest first, so that folders which were joined count as entries of
	// their own folder.
	for _, dir := range r.parentDirs(set) {
		r.joinEntries(set, dir)
	}
	for path := range set {
		if isCovered(set, filepath.Dir(path)) {
			delete(set, path)
		}
	}
	r.addAliases(set, paths)
	return slices.Sorted(maps.Keys(set)), wide
}

// parentDirs lists the folders above the paths, deepest first.
func (r *rootReducer) parentDirs(set map[string]bool) []string {
	all := map[string]bool{}
	for path := range set {
		for dir := filepath.Dir(path); dir != "/" && !all[dir]; dir = filepath.Dir(dir) {
			all[dir] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(strings.Count(b, "/")-strings.Count(a, "/"), strings.Compare(a, b))
	})
}

// joinEntries replaces the entries of a folder by the folder when they are many.
func (r *rootReducer) joinEntries(set map[string]bool, dir string) {
	if set[dir] || r.tooWide(dir) != "" {
		return
	}
	var entries []string
	for path := range set {
		if filepath.Dir(path) == dir {
			entries = append(entries, path)
		}
	}
	if len(entries) <= maxSiblings {
		return
	}
	for _, path := range entries {
		delete(set, path)
	}
	set[dir] = true
}

// isCovered reports whether a folder or one above it is a root.
func isCovered(set map[string]bool, dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if set[dir] {
			return true
		}
		if dir == "/" {
			return false
		}
	}
}

// addAliases adds the names that links outside of every root give to what was
// used: a child sees what is declared under both names, and no link that is
// not itself in reach.
func (r *rootReducer) addAliases(set map[string]bool, paths map[string]pathUse) {
	for path, u := range paths {
		_, root := set[path]
		if u.given != "" && !isCovered(set, u.given) && (root || isCovered(set, path)) && r.tooWide(u.given) == "" {
			set[u.given] = u.dir
		}
	}
}

// spellRoot writes a root with the variables of a configuration.
func (r *rootReducer) spellRoot(path string) string {
	for _, v := range []struct{ name, dir string }{{"${workspace}", r.work}, {"${home}", r.home}} {
		if v.dir != "" && v.dir != "/" && reach.Within(v.dir, path) {
			return v.name + strings.TrimPrefix(path, v.dir)
		}
	}
	return path
}

func (r *rootReducer) spellAll(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		out = append(out, r.spellRoot(p))
	}
	slices.Sort(out)
	return out
}
