package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const copiedSecret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

// TestC1_ImportLeavesNoCopyForAgentsOrGit checks the only file that still holds
// the secret of the client's file: only the user may read it, and no call reads
// it.
func TestC1_ImportLeavesNoCopyForAgentsOrGit(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := filepath.Join(dir, ".mcp.json")
	before := `{"mcpServers": {"hub": {"command": "cat", "env": {"GITHUB_TOKEN": "` + copiedSecret + `"}}}}`
	if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	runSallyport(t, dir, "import", "claude-code", "--write", "--host", "hub=api.github.com")
	var holding []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(p)
		if strings.Contains(string(text), copiedSecret) {
			holding = append(holding, p)
		}
		return err
	})
	if err != nil || len(holding) != 1 || !strings.HasPrefix(holding[0], filepath.Join(dir, "home", ".local", "state", "sallyport")+"/") {
		t.Fatalf("the secret is in %q (%v), want one copy in the user's folder of state", holding, err)
	}
	for name, want := range map[string]fs.FileMode{holding[0]: 0o600, filepath.Dir(holding[0]): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v (%v), want %v", name, info.Mode(), err, want)
		}
	}
	// Copies that earlier versions left are on the floor too, and a warning
	// names them.
	old := path + ".20261121T201537.528Z.bak"
	if err := os.WriteFile(old, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, copied := range []string{holding[0], old} {
		cmd := sallyportCommand(dir, "call", "read_file", `{"path": "`+copied+`"}`)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "PATH_NOT_REACHABLE") {
			t.Errorf("read_file %s = %s, %v, want a refusal", copied, out, err)
		}
	}
	for _, args := range [][]string{{"check"}, {"import"}, {"import", "claude-code"}} {
		out, _ := sallyportCommand(dir, args...).CombinedOutput()
		if !strings.Contains(string(out), old+" is a copy that an earlier version left") {
			t.Errorf("%q does not name %s: %s", args, old, out)
		}
	}
	// What lies beside the file restores nothing: anybody may have put it there. The
	// warning says where a copy goes that the user trusts.
	if err := os.Rename(holding[0], holding[0]+".away"); err != nil {
		t.Fatal(err)
	}
	connected, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	runSallyport(t, dir, "import", "--rollback", "claude-code")
	if got, err := os.ReadFile(path); err != nil || string(got) != string(connected) {
		t.Errorf("the client's file is %q (%v), want it as it was", got, err)
	}
	out, _ := sallyportCommand(dir, "check").CombinedOutput()
	_, to, _ := strings.Cut(string(out), "or move it to ")
	to, _, _ = strings.Cut(to, "\n")
	if err := os.Rename(old, to); err != nil {
		t.Fatal(err)
	}
	runSallyport(t, dir, "import", "--rollback", "claude-code")
	if got, err := os.ReadFile(path); err != nil || string(got) != before {
		t.Errorf("the client's file is %q (%v), want what it was", got, err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("the copy that was put back is still there")
	}
}
