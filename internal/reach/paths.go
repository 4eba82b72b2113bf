package reach

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CleanPath returns the canonical form of an absolute path: no dot segments,
// no doubled or trailing separators; the root stays what it is. It is lexical
// and touches no disk. An empty path, a relative one and one that holds a NUL
// byte, at which the operating system would cut it, are errors.
func CleanPath(s string) (string, error) {
	switch {
	case s == "":
		return "", errors.New("empty path")
	case strings.IndexByte(s, 0) >= 0:
		return "", fmt.Errorf("path %q holds a NUL byte", s)
	case !filepath.IsAbs(s):
		return "", fmt.Errorf("path %q is not absolute", s)
	}
	return filepath.Clean(s), nil
}

// Within reports whether target is base or lies below it, judged on whole path
// elements: /data covers /data/x and not /database. The root covers every
// absolute path. Both sides are cleaned when they are not clean already; an
// empty side is covered by nothing and covers nothing.
func Within(base, target string) bool {
	if base == "" || target == "" {
		return false
	}
	base, target = filepath.Clean(base), filepath.Clean(target)
	rest, ok := strings.CutPrefix(target, base)
	if !ok {
		return false
	}
	// A base that ends in a separator is a root, and what follows it is
	// already a new element.
	return rest == "" || rest[0] == filepath.Separator || base[len(base)-1] == filepath.Separator
}

// FollowNames returns where a path leads whose beginning may be a name for another
// place: that of the longest name that it begins with.
func FollowNames(names map[string]string, path string) string {
	best := ""
	for name := range names {
		if len(name) > len(best) && Within(name, path) {
			best = name
		}
	}
	if best == "" {
		return path
	}
	return filepath.Join(names[best], path[len(best):])
}

// IntersectPaths returns what both lists cover. Of two entries that overlap
// the narrower one is granted, whichever list it comes from, so the result is
// the same when the lists change places, and is covered by each of them. It is
// cleaned, sorted and free of entries that another entry covers. The second
// result lists, as they were written, the declared entries of which nothing
// was granted; an entry that is not an absolute path is one of them, and in
// the allowed list it allows nothing.
func IntersectPaths(declared, allowed []string) (granted, dropped []string) {
	ceiling := cleanAll(allowed)
	for _, d := range declared {
		c, err := CleanPath(d)
		if err != nil {
			dropped = append(dropped, d)
			continue
		}
		n := len(granted)
		for _, a := range ceiling {
			switch {
			case Within(a, c):
				granted = append(granted, c)
			case Within(c, a):
				granted = append(granted, a)
			}
		}
		if len(granted) == n {
			dropped = append(dropped, d)
		}
	}
	return dropCovered(granted), dropped
}

// cleanAll returns the canonical form of the entries that have one.
func cleanAll(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		if c, err := CleanPath(p); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// dropCovered sorts clean paths and drops those that another one covers.
func dropCovered(paths []string) []string {
	slices.Sort(paths)
	var out []string
	for _, p := range paths {
		// Only an ancestor can cover p, and an ancestor is a prefix, so it
		// sorts before p. It need not be the last one kept: "/a", "/a-b",
		// "/a/c" is sorted, for "-" sorts before "/".
		if !slices.ContainsFunc(out, func(q string) bool { return Within(q, p) }) {
			out = append(out, p)
		}
	}
	return out
}

// Expand replaces the variable at the beginning of a path, such as
// "${workspace}/docs", and returns the canonical form of the result. The names
// of variables are the keys of vars, without the braces. An unknown variable,
// one whose value is empty, one that does not stand alone at the beginning,
// and a result that is not absolute are errors.
func Expand(path string, vars map[string]string) (string, error) {
	rest, ok := strings.CutPrefix(path, "${")
	if !ok {
		if strings.Contains(path, "${") {
			return "", fmt.Errorf("path %q: a variable may only stand at the beginning", path)
		}
		return CleanPath(path)
	}
	name, rest, ok := strings.Cut(rest, "}")
	if !ok {
		return "", fmt.Errorf("path %q: the variable is not closed", path)
	}
	value, known := vars[name]
	switch {
	case !known:
		return "", fmt.Errorf("path %q: unknown variable ${%s}", path, name)
	case value == "":
		return "", fmt.Errorf("path %q: variable ${%s} is empty", path, name)
	case rest != "" && rest[0] != '/' && rest[0] != filepath.Separator:
		// "${home}less" would name a sibling of the folder that was meant.
		return "", fmt.Errorf("path %q: a separator is expected after ${%s}", path, name)
	case strings.Contains(rest, "${"):
		return "", fmt.Errorf("path %q: a variable may only stand at the beginning", path)
	}
	return CleanPath(value + rest)
}

// SplitElements splits a path and drops what does not count. A ".." stays: it means
// the parent of what precedes it after links, not before.
func SplitElements(p string) []string {
	parts := strings.FieldsFunc(p, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	return slices.DeleteFunc(parts, func(s string) bool { return s == "." })
}
