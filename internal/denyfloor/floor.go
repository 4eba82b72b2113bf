// Package denyfloor is the list of paths that no grant reaches:
// [New] compiles it, [Floor.Check] asks it about one path. The accessors
// of scoped and the confinement of children hold to the same list.
package denyfloor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// The two directions of file reach.
const (
	opRead  = "read"
	opWrite = "write"
)

// compiledFloor compiles the table once per process; it never changes.
var compiledFloor = sync.OnceValue(func() *floorRules {
	c := &floorRules{}
	for _, r := range Rules() {
		switch {
		case strings.HasPrefix(r.Path, "~/"):
			c.home.addRule(r.Path[2:], r)
		case strings.HasPrefix(r.Path, "**/*"):
			c.endings = append(c.endings, endingRule{strings.ToLower(r.Path[4:]), &r})
		case strings.HasPrefix(r.Path, "**/"):
			c.any.addRule(r.Path[3:], r)
		case strings.HasPrefix(r.Path, inRepository) && r.Tools:
			c.gitTool.addRule(r.Path[len(inRepository):], r)
		case strings.HasPrefix(r.Path, inRepository):
			c.git.addRule(r.Path[len(inRepository):], r)
		default:
			c.abs.addRule(r.Path[1:], r)
		}
	}
	return c
})

// New compiles the always-deny floor of a backend; nil stands for the zero
// backend. An empty Home means the current user's home directory. A relative
// Home or Deny path is taken from the process's folder, since leaving it out
// would open what it was meant to close.
func New(b *sallyport.FileBackend) *Floor {
	if b == nil {
		b = &sallyport.FileBackend{}
	}
	d := &Floor{rules: compiledFloor(), ids: &fileIdentities{}}
	home := b.Home
	if home == "" {
		// Without a home of its own the process still has the floor of
		// /root, /home/* and their like.
		home, _ = os.UserHomeDir()
	}
	if home != "" {
		all := pathSpellings(home)
		d.ownHome = all[len(all)-1]
		for _, h := range all {
			d.homes = append(d.homes, foldPath(h))
		}
	}
	if b.Packages != "" {
		d.packages = pathSpellings(b.Packages)
	}
	for _, p := range ownPaths(b) {
		if p == "" {
			continue
		}
		folder := p == b.Packages || os.IsPathSeparator(p[len(p)-1])
		for _, s := range pathSpellings(p) {
			d.own = append(d.own, ownPath{s, filepath.Dir(s), filepath.Base(s), folder})
		}
	}
	return d
}

// Rules returns the fixed table of the floor, for documentation, explain
// and the sandbox. The caller owns the slice.
func Rules() []Rule {
	var out []Rule
	for _, g := range floorTable {
		for _, p := range g.paths {
			out = append(out, Rule{
				Path: p, WriteOnly: g.writeOnly, Class: Absolute, Reason: g.reason, Source: g.source,
			})
		}
	}
	for _, r := range repositoryTable {
		out = append(out, Rule{
			Path: r.path, WriteOnly: true, Class: Repository, Reason: RepositoryReason, Source: r.source,
		})
	}
	for _, r := range toolRows {
		out = append(out, Rule{
			Path: r.path, WriteOnly: true, Tools: true, Class: Repository, Reason: RepositoryReason, Source: r.source,
		})
	}
	for _, g := range projectTable {
		for _, r := range g.rows {
			out = append(out, Rule{
				Path: r.path, WriteOnly: true, Class: Project, Reason: g.reason, Source: r.source,
			})
		}
	}
	return out
}

// Own returns the runtime's own paths on the floor, with symbolic links
// followed where that makes a difference. The caller owns the slice.
func (d *Floor) Own() []string {
	out := make([]string, 0, len(d.own))
	for _, o := range d.own {
		out = append(out, o.path)
	}
	return out
}

// OwnFolder reports whether one of the paths of [Floor.Own] is that of a folder,
// by the separator at its end.
func (d *Floor) OwnFolder(path string) bool {
	return slices.ContainsFunc(d.own, func(o ownPath) bool { return o.path == path && o.folder })
}

// OwnReason says for operators why the paths of [Floor.Own] are on the floor.
func OwnReason() string { return ruleOwn.Reason }

// Check reports whether an absolute, cleaned path is denied for an operation,
// "read" or "write", and why in the operator's words. Any other operation is
// judged like a write. It is lexical: callers ask it about the name that was
// given and again about the file that was opened.
func (d *Floor) Check(op, path string) (reason string, denied bool) {
	r := d.findRule(op, path)
	if r == nil {
		return "", false
	}
	return r.Reason, true
}

// Rule is [Floor.Check], or for a file [Floor.CheckFile], with the
// whole rule that denies. Where several do, it is the strictest: one of the
// class [Project] comes last.
func (d *Floor) Rule(op, path string, file bool) (Rule, bool) {
	r := d.findRule(op, path)
	if file {
		r = d.findFileRule(op, path)
	}
	if r == nil {
		return Rule{}, false
	}
	return *r, true
}

// The rules that are in no table.
var (
	ruleEmpty = &Rule{Class: Absolute, Reason: "an empty path"}
	ruleOwn   = &Rule{Class: Absolute, Reason: "the runtime's own configuration, state, key and audit files"}
	// A file .git names the directory whose hooks and configuration git obeys
	// (gitrepository-layout(5)).
	ruleGitFile = &Rule{Path: "**/.git", WriteOnly: true, Class: Repository, Reason: RepositoryReason}
)

// findRule returns the rule that denies an operation on a path, nil when none
// does.
func (d *Floor) findRule(op, path string) *Rule {
	if path == "" {
		return ruleEmpty
	}
	for i := range d.own {
		if d.own[i].coversPath(path) {
			return ruleOwn
		}
	}
	p := foldPath(path)
	write := op != opRead
	if r := d.rules.abs.findMatch(p[1:], write); r != nil && !d.isOwnHome(r, p) {
		return r
	}
	if r := d.matchHome(p, write); r != nil {
		return r
	}
	var project *Rule
	for i := 0; i < len(p); i++ {
		if p[i] != '/' {
			continue
		}
		switch r := d.rules.any.findMatch(p[i+1:], write); {
		case r == nil:
		case r.Class != Project:
			return r
		case project == nil && !strings.Contains(p[:i+1], installed):
			project = r
		}
	}
	if !write {
		return nil
	}
	if r := d.rules.matchRepository(p); r != nil {
		return r
	}
	if project == nil {
		project = d.rules.matchEnding(p)
	}
	return project
}

// matchEnding looks for an element with one of the endings.
func (r *floorRules) matchEnding(p string) *Rule {
	for _, e := range r.endings {
		at := strings.Index(p, e.text)
		if at < 0 || strings.Contains(p[:at], installed) {
			continue
		}
		if end := at + len(e.text); end == len(p) || p[end] == '/' {
			return e.rule
		}
	}
	return nil
}

// CheckFile is Check for what is, or will be, a regular file: a file .git is
// closed for writing, while a directory of this name is judged by what is in
// it.
func (d *Floor) CheckFile(op, path string) (reason string, denied bool) {
	r := d.findFileRule(op, path)
	if r == nil {
		return "", false
	}
	return r.Reason, true
}

func (d *Floor) findFileRule(op, path string) *Rule {
	r := d.findRule(op, path)
	if (r == nil || r.Class == Project) && op != opRead && strings.HasSuffix(foldPath(path), "/.git") {
		return ruleGitFile
	}
	return r
}

// isOwnHome reports whether a rule denies the home directory of another user
// who is in fact the current one: the administrator's home is closed to
// everybody else.
func (d *Floor) isOwnHome(r *Rule, p string) bool {
	return r.Path == rootHome && d.ownHome == rootHome && reach.Within(d.ownHome, p)
}

// rootHome is the administrator's home directory on Linux.
const rootHome = "/root"

// homeParents hold one directory per user on the systems we know.
var homeParents = [...]string{"/home/", "/users/", "/var/home/", "/export/home/"}

// matchHome tries the rules of home directories below the configured home and
// below every directory that is some user's home by convention.
func (d *Floor) matchHome(p string, write bool) *Rule {
	for _, h := range d.homes {
		if rest, ok := cutBase(h, p); ok {
			if r := d.rules.home.findMatch(rest, write); r != nil {
				return r
			}
		}
	}
	for _, h := range [...]string{rootHome, "/var/root"} {
		if rest, ok := cutBase(h, p); ok {
			if r := d.rules.home.findMatch(rest, write); r != nil {
				return r
			}
		}
	}
	for _, parent := range homeParents {
		if rest, ok := strings.CutPrefix(p, parent); ok {
			_, rest, _ = strings.Cut(rest, "/")
			if r := d.rules.home.findMatch(rest, write); r != nil {
				return r
			}
		}
	}
	return nil
}

// cutBase returns the part of p beneath base.
func cutBase(base, p string) (string, bool) {
	rest, ok := strings.CutPrefix(p, base)
	if !ok || rest == "" || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}

// sidecars are the endings under which SQLite, the state and writers that replace
// a file keep parts of it beside it: https://www.sqlite.org/tempfiles.html, the
// folder of the record, and the usual temporary names.
var sidecars = [...]string{"-log", "-wal", "-shm", "-journal", "-mj", ".tmp", ".bak", ".lock", ".old", ".new", ".swp", "~"}

// coversPath reports whether path is the own path, lies below it, or is one of its
// side files.
func (o *ownPath) coversPath(path string) bool {
	if SameName(o.path, path) {
		return true
	}
	if len(path) > len(o.path) && os.IsPathSeparator(path[len(o.path)]) && SameName(o.path, path[:len(o.path)]) {
		return true
	}
	if len(path) <= len(o.dir)+1 || !SameName(o.dir, path[:len(o.dir)]) {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(path[len(o.dir):], string(filepath.Separator)), string(filepath.Separator))
	// Editors and writers put a dot before a temporary name.
	name = strings.TrimPrefix(name, ".")
	base := strings.TrimPrefix(o.base, ".")
	if len(name) <= len(base) || !SameName(base, name[:len(base)]) {
		return false
	}
	rest := name[len(base):]
	for _, s := range sidecars {
		if len(rest) >= len(s) && SameName(s, rest[:len(s)]) {
			return true
		}
	}
	return false
}
