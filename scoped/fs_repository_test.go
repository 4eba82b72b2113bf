package scoped

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
)

// steered makes a folder with repositories of every shape: of a project, of
// submodules however deep, of a worktree, bare, and one in another.
func steered(t *testing.T) string {
	t.Helper()
	files := map[string]string{
		"p/.git/HEAD": "ref: refs/heads/main\n", "p/.git/objects/": "", "p/.git/refs/": "", "p/.git/config": "",
		"bare.git/HEAD": "ref: x\n", "bare.git/objects/": "", "bare.git/refs/": "", "bare.git/config": "",
		"p/.git/worktrees/w/HEAD": "x", "p/.git/worktrees/w/commondir": "../..", "notes/HEAD": "x", "notes/config": "",
		"half/HEAD": "x", "half/objects/": "", "half/config": "",
		"p/nested/.git/HEAD": "x", "p/nested/.git/objects/": "", "p/nested/.git/refs/": "",
	}
	for _, m := range []string{"m", "a/b/c/d/e", "m/modules/inner/modules/innermost", "refs/odd"} {
		for _, name := range []string{"/HEAD", "/objects/", "/refs/"} {
			files["p/.git/modules/"+m+name] = ""
		}
	}
	return tree(t, files)
}

func TestA5_RepositoriesAreNotSteeredAtAnyDepth(t *testing.T) {
	t.Parallel()
	dir := steered(t)
	f := bindTo(t, reachOf(t, dir, []string{"."}, []string{"."}, nil), dir)
	names := append(denyfloor.Steering(), "hooks/pre-commit", "remotes/origin", "rebase-merge/git-rebase-todo", "Config", "HOOKS/x")
	for _, repo := range []string{
		"p/.git", "p/.git/modules/m", "p/.git/modules/a/b/c/d/e", "p/.git/modules/m/modules/inner/modules/innermost",
		"p/.git/modules/refs/odd", "p/.git/worktrees/w", "bare.git", "p/nested/.git",
	} {
		for _, name := range names {
			err := f.WriteFile(filepath.Join(repo, name), []byte("x"))
			if !errors.Is(err, sallyport.ErrPathNotReachable) {
				t.Errorf("WriteFile(%s/%s) = %v, want it refused", repo, name, err)
			}
		}
	}
	for _, name := range []string{"half/refs/x", "half/refs"} {
		if err := f.MkdirAll(name); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("MkdirAll(%s) = %v, want refused what makes a repository of what has a configuration", name, err)
		}
	}
	for _, name := range []string{
		"p/.git/info/exclude", "p/.git/refs/heads/config", "p/.git/modules/m/refs/heads/hooks", "p/.git/COMMIT_EDITMSG",
		"notes/config", "notes/hooks/x", "notes/info/attributes", "p/src/hooks/use.js", "p/config", "half/README",
	} {
		if err := f.WriteFile(name, []byte("x")); err != nil {
			t.Errorf("WriteFile(%s) = %v, want it written", name, err)
		}
	}
}

// TestA5_LinksOfARepositorySteerIt has an operator keep the hooks and the
// configuration of a repository elsewhere in it.
func TestA5_LinksOfARepositorySteerIt(t *testing.T) {
	t.Parallel()
	dir := steered(t)
	for name, target := range map[string]string{"p/.git/hooks": "../tools/hooks", "p/.git/config": "../tools/config", "p/.git/config.worktree": "../tools/new"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "p/tools/hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p/tools/config"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f := bindTo(t, reachOf(t, dir, []string{"."}, []string{"."}, nil), dir)
	for name, want := range map[string]error{
		"p/tools/hooks/pre-commit": sallyport.ErrPathNotReachable, "p/tools/config": sallyport.ErrPathNotReachable,
		"p/tools/new": sallyport.ErrPathNotReachable, "p/tools/x": nil,
	} {
		if err := f.WriteFile(name, []byte("x")); !errors.Is(err, want) {
			t.Errorf("WriteFile(%s) = %v, want %v", name, err, want)
		}
	}
}

func TestA5_OtherNamesOfGitAreGit(t *testing.T) {
	t.Parallel()
	d := denyfloor.New(&sallyport.FileBackend{Home: "/home/a"})
	for _, name := range []string{
		".git", ".GIT", ".Git", "git~1", "GIT~1", ".git.", ".git ", ".git. .", ".git::$INDEX_ALLOCATION", ".g\u200cit",
		".\u00adgit", "\ufeff.git", ".gi\u2063t",
	} {
		for _, rest := range []string{"/config", "/hooks/x", "/modules/a/b/c/d/config", "/modules/a/commondir", "/modules/logs/hooks/x", "/modules/a/objects/config", "/worktrees/refs/commondir"} {
			if _, denied := d.Check(opWrite, "/ws/"+name+rest); !denied {
				t.Errorf("Check(write, %q) = allowed, want denied", "/ws/"+name+rest)
			}
		}
		if _, denied := d.CheckFile(opWrite, "/ws/"+name); !denied {
			t.Errorf("CheckFile(write, %q) = allowed, want a file of this name denied", name)
		}
	}
	for _, name := range []string{".github", ".gitx", "git~1x", "x.git", "git", ".gitignore", "git~12", "digit"} {
		if reason, denied := d.Check(opWrite, "/ws/"+name+"/config"); denied {
			t.Errorf("Check(write, %q) = %s, want allowed", name+"/config", reason)
		}
	}
	if _, denied := d.Check(opRead, "/ws/.\u017fsh/id"); !denied {
		t.Error("Check(read) of .\u017fsh = allowed, want it taken for .ssh")
	}
}

func TestA20_ConfigurationOfProjectsIsClosedForWriting(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fs := reachOf(t, dir, []string{"."}, []string{"."}, nil)
	f := bindTo(t, fs, dir)
	for _, name := range []string{
		".gemini/settings.json", ".codex/config.toml", ".claude/skills/x/SKILL.md", ".windsurf/mcp_config.json",
		".roo/mcp.json", ".kiro/settings/mcp.json", ".amazonq/mcp.json", ".cargo/config.toml", ".npmrc", ".yarnrc.yml",
		".envrc", ".husky/pre-commit", ".devcontainer/devcontainer.json", "app.code-workspace", ".exrc", ".vscode/launch.json",
		".VSCODE/tasks.json", "App.Code-Workspace", ".mcp.json", ".cursor/mcp.json", ".idea/x.xml", "pip.conf", ".bazelrc",
		"lefthook-local.yml", "lefthook.toml", ".lefthook-local.json", ".config/lefthook.yml", ".huskyrc.json", ".git-hooks/pre_commit/x.rb",
		"mise.local.toml", "mise/config.toml", ".config/mise/config.toml", ".mise.production.toml", ".bazeliskrc", ".kilocode/mcp.json",
	} {
		for _, at := range []string{"", "a/b/c/d/e/f"} {
			if err := f.WriteFile(filepath.Join(at, name), []byte("x")); !errors.Is(err, sallyport.ErrPathNotReachable) {
				t.Errorf("WriteFile(%s) = %v, want it refused", filepath.Join(at, name), err)
			}
		}
		rule, denied := fs.floor.Rule(opWrite, filepath.Join(dir, name), true)
		if !denied || rule.Class != denyfloor.Project || rule.Source == "" {
			t.Errorf("Rule(%s) = %+v, %v, want one of the class project", name, rule, denied)
		}
	}
	for _, name := range []string{
		"package.json", "package-lock.json", "go.mod", "Cargo.toml", "pyproject.toml", "Makefile", "code-workspace.md", ".npmrc.md", "lefthook.go", "mise.go",
		"node_modules/x/.vscode/settings.json", "node_modules/x/.npmrc", "node_modules/x/a.code-workspace", ".github/workflows/ci.yml",
	} {
		if err := f.WriteFile(name, []byte("x")); err != nil {
			t.Errorf("WriteFile(%s) = %v, want it written", name, err)
		}
	}
	// What lies below node_modules is a repository's or the gate's all the same.
	for _, name := range []string{"node_modules/x/.git/config", "node_modules/x/sallyport.yaml"} {
		if err := f.WriteFile(name, []byte("x")); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("WriteFile(%s) = %v, want it refused", name, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, ".sallyport/.vscode"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r, _ := fs.floor.Rule(opWrite, filepath.Join(dir, ".sallyport/.vscode/x"), true); r.Class != denyfloor.Absolute {
		t.Errorf("Rule of the gate's own folder = %+v, want the class absolute", r)
	}
}
