package scoped

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport"
)

func TestA5_OtherNamesOfGitAreGit(t *testing.T) {
	d := Floor(&sallyport.FileBackend{Home: "/home/a"})
	if _, denied := d.Check(opRead, "/ws/.\u017fsh/id"); !denied {
		t.Error("Check(read) of .\u017fsh = allowed, want it taken for .ssh")
	}
}

func TestA20_ConfigurationOfProjectsIsClosedForWriting(t *testing.T) {
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
		if !denied || rule.Class != FloorProject || rule.Source == "" {
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
	if r, _ := fs.floor.Rule(opWrite, filepath.Join(dir, ".sallyport/.vscode/x"), true); r.Class != FloorAbsolute {
		t.Errorf("Rule of the gate's own folder = %+v, want the class absolute", r)
	}
}
