package survey

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// overflow says that a bound was exceeded, and which directory has most of
// what was counted.
type overflow struct{ dir string }

func (o *overflow) Error() string { return "survey of the reach: too much lies in " + short(o.dir) }

// overflow finds the directory to withhold: from the root of the reach with the
// most of the counted paths downwards, as long as one folder has the most of
// them. What is withheld already does not count.
func (w *walker) overflow(counted []string) error {
	counted = slices.DeleteFunc(slices.Clone(counted), func(path string) bool {
		for dir := path; dir != "/"; dir = filepath.Dir(dir) {
			if w.crowded[dir] {
				return true
			}
		}
		return false
	})
	dir, most := "", 0
	for _, r := range w.reach {
		if n := countBelow(counted, r); n > most && !w.crowded[r] {
			dir, most = r, n
		}
	}
	for {
		next, n := fullest(counted, dir)
		if n*2 <= most || !isDirectory(next) {
			return &overflow{dir}
		}
		dir, most = next, n
	}
}

func countBelow(paths []string, dir string) (n int) {
	for _, p := range paths {
		if below(dir, p) != "" {
			n++
		}
	}
	return n
}

// below returns the part of a path beneath a directory.
func below(dir, path string) string {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	if !ok {
		return ""
	}
	return rest
}

// fullest returns the entry of a directory below which most paths lie.
func fullest(paths []string, dir string) (entry string, n int) {
	counts := make(map[string]int)
	for _, p := range paths {
		first, rest, _ := strings.Cut(below(dir, p), "/")
		if rest == "" {
			continue
		}
		if counts[first]++; counts[first] > n {
			entry, n = join(dir, first), counts[first]
		}
	}
	return entry, n
}

func isDirectory(path string) bool {
	var st unix.Stat_t
	return path != "" && unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func pathsOf(masks []Mask) []string {
	out := make([]string, 0, len(masks))
	for i := range masks {
		out = append(out, masks[i].Path)
	}
	return out
}
