package suggest

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	// exactItems is how many items within one pattern of today stand one by one.
	exactItems = 16
	// filesOfFolder is from how many paths in one folder on the folder stands for them,
	// filesOfRoot the same for a folder that the role has today.
	filesOfFolder, filesOfRoot = 3, 8
	// exactPaths is how many paths stand before folders are put together further.
	exactPaths = 20
)

// foldItems returns a list in which a pattern of today stands for more than a few items
// that it holds. No pattern is made up.
func foldItems(items, today []string, covers func(list []string, item string) bool) []string {
	left := slices.Clone(items)
	for _, pattern := range today {
		var within []string
		for _, item := range left {
			if item != pattern && covers([]string{pattern}, item) {
				within = append(within, item)
			}
		}
		if len(within) > exactItems || len(within) > 0 && slices.Contains(left, pattern) {
			left = slices.DeleteFunc(left, func(item string) bool { return slices.Contains(within, item) })
			left = append(left, pattern)
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

// foldPaths returns a list in which folders stand for several paths below them. A folder is
// never above the roots, and what has the name of something secret stands alone.
func foldPaths(paths, roots []string) []string {
	list := dropCovered(paths)
	list = foldFolders(list, roots, false)
	for len(list) > exactPaths {
		folded := foldFolders(list, roots, true)
		if len(folded) == len(list) {
			break
		}
		list = folded
	}
	return list
}

// foldFolders puts the paths of each folder together that has enough of them; any two are
// enough when there are too many paths.
func foldFolders(list, roots []string, tooMany bool) []string {
	below := map[string]int{}
	for _, path := range list {
		if folder, ok := folderOf(path, roots); ok {
			below[folder]++
		}
	}
	out := slices.Clone(list)
	for folder, n := range below {
		enough := filesOfFolder
		switch {
		case tooMany:
			enough = 2
		case slices.Contains(roots, folder):
			enough = filesOfRoot
		}
		if n >= enough {
			out = append(out, folder)
		}
	}
	return dropCovered(out)
}

// folderOf returns the folder that may stand for a path, below a root that holds both.
func folderOf(path string, roots []string) (folder string, ok bool) {
	folder = filepath.Dir(path)
	if slices.Contains(roots, path) {
		return "", false
	}
	for _, root := range roots {
		if !reach.Within(root, folder) {
			continue
		}
		rest, err := filepath.Rel(root, path)
		if err == nil && !slices.ContainsFunc(strings.Split(filepath.ToSlash(rest), "/"), isSecretName) {
			return folder, true
		}
	}
	return "", false
}

// secretWords are parts of names of what is more than a document.
var secretWords = [...]string{"secret", "credential", "password", "passwd", "token", "private", "id_rsa", "id_ed25519"}

// isSecretName reports whether a name is one of a file or folder that stands alone.
func isSecretName(name string) bool {
	name = strings.ToLower(name)
	switch filepath.Ext(name) {
	case ".pem", ".key", ".p12", ".pfx", ".kdbx", ".age", ".gpg":
		return true
	}
	return strings.HasPrefix(name, ".") || slices.ContainsFunc(secretWords[:], func(word string) bool { return strings.Contains(name, word) })
}

// dropCovered returns the paths, sorted, without those within another one.
func dropCovered(paths []string) (list []string) {
	sorted := slices.Compact(slices.Sorted(slices.Values(paths)))
	slices.SortStableFunc(sorted, func(a, b string) int { return len(a) - len(b) })
	held := map[string]bool{}
	for _, path := range sorted {
		if !isHeld(path, held) {
			held[path] = true
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// isHeld reports whether a path or a folder above it is held.
func isHeld(path string, held map[string]bool) bool {
	for {
		if held[path] {
			return true
		}
		above := filepath.Dir(path)
		if above == path {
			return false
		}
		path = above
	}
}

// foldList folds what a list of a role has to hold, by what its entries are.
func foldList(r *group.Reach, items, today []string) []string {
	if group.Within(r.Name, group.Files) {
		return foldPaths(items, today)
	}
	return foldItems(items, today, r.Covers)
}
