package scoped

import (
	"strings"
)

// ReasonRepository is the reason of the rules for what is in the directory of
// a repository.
const ReasonRepository = "a repository's hooks and configuration run commands"

// inRepository begins the rules that count in every directory of a repository:
// one named .git and any below .git/modules or .git/worktrees.
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

// The marks of a directory that git takes for a repository: setup.c of git,
// is_git_directory. One without objects and refs of its own names another
// directory that has them.
const (
	gitHead    = "head"
	gitObjects = "objects"
	gitRefs    = "refs"
	gitCommon  = "commondir"
)

// steers returns the row that covers a path relative to the directory of a
// repository, in the folded form.
func (r *floorRules) steers(rel string) *FloorRule {
	return r.git.match(rel, true)
}

// matchRepository looks for a directory of a repository in a folded path by
// its name alone: .git, and what lies in the folders for those of submodules
// and worktrees, however deep. Branches and objects may have any name.
func (r *floorRules) matchRepository(p string) *FloorRule {
	at := strings.Index(p, "/.git/")
	for at >= 0 {
		rest := p[at+len("/.git/"):]
		if rule := r.steers(rest); rule != nil {
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
func (r *floorRules) matchNested(rel string) *FloorRule {
	for depth := 0; ; depth++ {
		first, rest, more := strings.Cut(rel, "/")
		if !more {
			return nil
		}
		if rule := r.steers(rest); rule != nil {
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
