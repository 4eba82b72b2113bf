package file

import "strings"

const (
	// maxIgnoreBytes bounds one .gitignore; real ones have a few kilobytes.
	maxIgnoreBytes = 256 << 10
	// maxIgnoreRules bounds the rules of one .gitignore.
	maxIgnoreRules = 5000
)

// ignoreRule is one line of a .gitignore.
type ignoreRule struct {
	// path is compared with the path below the directory of the file; nil
	// when name is compared with the last element only.
	path []globSegment
	name globSegment
	// negated re-includes what an earlier rule ignored.
	negated bool
	// dirOnly is set by a trailing slash.
	dirOnly bool
}

// parseIgnore reads a .gitignore by the rules of gitignore(5), "PATTERN
// FORMAT". What git would never match is dropped.
func parseIgnore(data string) []ignoreRule {
	data = strings.TrimPrefix(data, "\ufeff")
	var rules []ignoreRule
	for line := range strings.SplitSeq(data, "\n") {
		if len(rules) == maxIgnoreRules {
			break
		}
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// parseRule reads one line; ok is false for comments, blank lines and
// patterns that cannot match.
func parseRule(line string) (r ignoreRule, ok bool) {
	if strings.HasPrefix(line, "#") || len(line) > maxGlobBytes {
		return ignoreRule{}, false
	}
	line = trimUnquotedSpaces(line)
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	if line == "" || line == "/" {
		return ignoreRule{}, false
	}
	var err error
	if !strings.Contains(line, "/") {
		if r.name, err = newGlobSegment(line); err != nil {
			return ignoreRule{}, false
		}
		if r.name.kind == segmentAnyDepth {
			r.name.kind = segmentAny
		}
		return r, true
	}
	if r.path, err = newPath(strings.TrimPrefix(line, "/")); err != nil {
		return ignoreRule{}, false
	}
	return r, true
}

// trimUnquotedSpaces removes trailing spaces unless a backslash quotes them.
func trimUnquotedSpaces(line string) string {
	for strings.HasSuffix(line, " ") {
		head := line[:len(line)-1]
		slashes := len(head) - len(strings.TrimRight(head, `\`))
		if slashes%2 == 1 {
			return line
		}
		line = head
	}
	return line
}

// match reports whether the rule speaks about a path below its directory.
func (r *ignoreRule) match(path, name string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.path == nil {
		return r.name.match(name)
	}
	return matchPath(r.path, path)
}

// ignoreLevel is the rules of one directory. The chain leads to the parents.
type ignoreLevel struct {
	parent *ignoreLevel
	// base is the length of the directory's path with its slash, which is
	// cut off the paths that the rules are compared with.
	base  int
	rules []ignoreRule
}

// withRules puts the rules of a directory before those of its parents.
func (l *ignoreLevel) withRules(base int, rules []ignoreRule) *ignoreLevel {
	if len(rules) == 0 {
		return l
	}
	return &ignoreLevel{parent: l, base: base, rules: rules}
}

// isIgnored applies the nearest rule that speaks about a path: deeper
// directories before their parents, later lines before earlier ones. A path
// below an ignored directory is never asked about, because the walk does not
// descend there; so nothing in it can be re-included, as in git.
func (l *ignoreLevel) isIgnored(path, name string, dir bool) bool {
	for ; l != nil; l = l.parent {
		below := path[l.base:]
		for i := len(l.rules) - 1; i >= 0; i-- {
			if l.rules[i].match(below, name, dir) {
				return !l.rules[i].negated
			}
		}
	}
	return false
}

// alwaysIgnored reports whether tools of this kind never look into a
// directory of this name: stores of version control, of installed packages
// and of build products that people do not edit.
func alwaysIgnored(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".jj", ".bzr",
		"node_modules", "bower_components", "__pycache__", ".venv",
		"dist", "coverage", ".turbo", ".next", ".cache", ".mypy_cache", ".pytest_cache", ".tox":
		return true
	default:
		return false
	}
}
