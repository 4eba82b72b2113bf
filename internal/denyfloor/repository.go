package denyfloor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
)

// RepositoryReason is the reason of the rules for what is in the directory of
// a repository.
const RepositoryReason = "a repository's hooks and configuration run commands"

// inRepository begins the rules that count in every directory of a repository:
// one named .git, any below .git/modules or .git/worktrees, and any directory
// that git would take for one (see [GitDirectory]), whatever its name.
const inRepository = "<git>/"

// repositoryRow is a file or folder by which a repository steers who uses it.
type repositoryRow struct{ path, source string }

// repositoryTable is what steers an existing repository. Neither tools nor
// children change it, not even in an overlay.
var repositoryTable = [...]repositoryRow{
	{inRepository + "hooks", "githooks(5); CVE-2021-21300, CVE-2024-32002"},
	{inRepository + "config", "git-config(1): core.fsmonitor, core.sshCommand, filter.*; CVE-2022-24765"},
	{inRepository + "config.worktree", "git-worktree(1), configuration file"},
	{inRepository + "commondir", "gitrepository-layout(5): where configuration and hooks are looked for"},
	{inRepository + "gitdir", "gitrepository-layout(5): which .git file a worktree belongs to"},
	{inRepository + "info/attributes", "gitattributes(5): which filter, merge and diff commands run"},
	{inRepository + "objects/info/alternates", "gitrepository-layout(5): where objects come from"},
	{inRepository + "objects/info/http-alternates", "gitrepository-layout(5)"},
	{inRepository + "remotes", "gitrepository-layout(5): addresses to fetch from and push to"},
	{inRepository + "branches", "gitrepository-layout(5): addresses to fetch from and push to"},
	{"**/.hg/hgrc", "hgrc(5)"},
	{"**/.hg/hgrc-not-shared", "hgrc(5)"},
	{"**/.hg/sharedpath", "hg help share: where the configuration is looked for"},
	{"**/.sl/config", "Sapling: sl help config"},
	{"**/.jj/repo/config.toml", "https://jj-vcs.github.io/jj/latest/config/"},
	{"**/.bzr/branch/branch.conf", "bzr help configuration"},
}

// toolRows are what git itself writes all day and runs commands from. Tools do
// not write them; a child that rebases does.
var toolRows = [...]repositoryRow{
	{inRepository + "rebase-merge", "git-rebase(1), exec lines of git-rebase-todo"},
	{inRepository + "rebase-apply", "git-rebase(1), git-am(1)"},
	{inRepository + "sequencer", "git-cherry-pick(1), sequencer"},
}

// The marks of a directory that git takes for a repository: setup.c of git,
// is_git_directory. One without objects and refs of its own names another
// directory that has them.
const (
	gitHead    = "head"
	gitObjects = "objects"
	gitRefs    = "refs"
	gitCommon  = "commondir"
)

// GitDirectory reports whether git would take a directory for that of a
// repository, by what exists in it: has says so of a name. HEAD alone may be
// away: git renames it, so it cannot be kept in its place.
func GitDirectory(has func(name string) bool) bool {
	return has(gitObjects) && has(gitRefs) || has("HEAD") && has(gitCommon)
}

// matchSteering returns the row that covers a path relative to the directory of
// a repository, in the folded form.
func (r *floorRules) matchSteering(rel string, tool bool) *Rule {
	if rule := r.git.findMatch(rel, true); rule != nil || !tool {
		return rule
	}
	return r.gitTool.findMatch(rel, true)
}

// matchRepository looks for a directory of a repository in a folded path by
// its name alone: .git, and what lies in the folders for those of submodules
// and worktrees, however deep. Branches and objects may have any name.
func (r *floorRules) matchRepository(p string) *Rule {
	at := strings.Index(p, "/.git/")
	for at >= 0 {
		rest := p[at+len("/.git/"):]
		if rule := r.matchSteering(rest, false); rule != nil {
			return rule
		}
		first, below, _ := strings.Cut(rest, "/")
		if first == "modules" || first == "worktrees" {
			if rule := r.matchNested(below); rule != nil {
				return rule
			}
		}
		next := strings.Index(p[at+1:], "/.git/")
		if next < 0 {
			return nil
		}
		at += 1 + next
	}
	return nil
}

// matchNested looks at every depth below .git/modules and .git/worktrees,
// whose first elements are names of submodules and worktrees. These may be those
// of a repository's own folders, such as logs; below one that is not the first,
// names are those of branches.
func (r *floorRules) matchNested(rel string) *Rule {
	for depth := 0; ; depth++ {
		first, rest, more := strings.Cut(rel, "/")
		if !more {
			return nil
		}
		if rule := r.matchSteering(rest, false); rule != nil {
			return rule
		}
		if depth > 0 && (first == gitRefs || first == "logs" || first == gitObjects) {
			return nil
		}
		rel = rest
	}
}

// Steering lists the names by which a repository is steered, relative to its
// directory. The caller owns the slice.
func Steering() []string {
	var out []string
	for _, r := range repositoryTable {
		if rel, ok := strings.CutPrefix(r.path, inRepository); ok {
			out = append(out, rel)
		}
	}
	return out
}

// InRepository judges a path relative to the directory of a repository, as a
// child's write. It does not look at the disk.
func (d *Floor) InRepository(rel string) (Rule, bool) {
	if r := d.rules.matchSteering(foldPath("/" + filepath.ToSlash(rel))[1:], false); r != nil {
		return *r, true
	}
	return Rule{}, false
}

// CheckPlace is [Floor.CheckFile] for a path without symbolic links at
// which a tool is about to write, and looks at the disk: a directory may be
// that of a repository under any name. Nor may the last piece be put to a
// directory that becomes one, with configuration or hooks that are there.
func (d *Floor) CheckPlace(op, path string) (reason string, denied bool) {
	if reason, denied := d.CheckFile(op, path); denied || op == opRead {
		return reason, denied
	}
	return d.checkAround(path)
}

// CheckDir is CheckPlace for a directory that is made or entered.
func (d *Floor) CheckDir(op, path string) (reason string, denied bool) {
	if reason, denied := d.Check(op, path); denied || op == opRead {
		return reason, denied
	}
	return d.checkAround(path)
}

// checkAround asks the disk whether a path lies where a repository is steered.
func (d *Floor) checkAround(path string) (reason string, denied bool) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		rel := foldPath(strings.TrimPrefix(path, dir))
		rel = strings.TrimLeft(rel, "/")
		if d.rules.matchSteering(rel, true) != nil && isRepository(dir) || completesRepository(dir, rel) || linksTo(filepath.Join(dir, ".git"), path) {
			return RepositoryReason, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// linksTo reports whether what steers the repository of a folder is a link to a
// path, or to a folder around it.
func linksTo(repository, path string) bool {
	if !isRepository(repository) {
		return false
	}
	for _, name := range Steering() {
		at := filepath.Join(repository, name)
		target, err := os.Readlink(at)
		if err != nil {
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(at), target)
		}
		if real, err := filepath.EvalSymlinks(at); err == nil {
			target = real // Else it is about to be made.
		}
		if reach.Within(target, path) {
			return true
		}
	}
	return false
}

// isRepository looks at a directory of the disk.
func isRepository(dir string) bool { return GitDirectory(onDisk(dir)) }

func onDisk(dir string) func(string) bool {
	return func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
}

// completesRepository reports whether what is put at rel makes a directory, which has
// something that steers and is none yet, that of a repository.
func completesRepository(dir, rel string) bool {
	first, _, _ := strings.Cut(rel, "/")
	has := onDisk(dir)
	return Completes(first, has, func(name string) bool { return strings.EqualFold(name, first) || has(name) })
}

// Completes reports whether an entry of a directory is one by which it becomes
// that of a repository, steered by what was there before. Was and is say of a
// name whether it was in the directory, and whether it will be.
func Completes(entry string, was, is func(name string) bool) bool {
	mark := func(name string) bool { return strings.EqualFold(name, entry) }
	if !slices.ContainsFunc([]string{gitHead, gitObjects, gitRefs, gitCommon}, mark) || GitDirectory(was) || !GitDirectory(is) {
		return false
	}
	return mark(gitCommon) || slices.ContainsFunc(Steering(), was)
}
