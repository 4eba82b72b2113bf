package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestABackupLiesInNoMountOfAGrant: a granted folder has two names where it is mounted twice.
func TestABackupLiesInNoMountOfAGrant(t *testing.T) {
	t.Parallel()
	dir := configured(t, `version: 2
workspace: ./ws
state: sqlite:.sallyport/state.db
personalities: {default: {tools: ["@file"], read: ["${workspace}"]}}
`)
	for _, name := range []string{"ws", "mounted"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const script = `mount --bind ws mounted || exit 9
		sallyport backup mounted/a/copy`
	cmd := exec.CommandContext(t.Context(), "unshare", "--map-root-user", "--mount", "sh", "-c", script)
	cmd.Dir, cmd.Env = dir, variablesIn(dir)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code == 9 || code < 0 || strings.HasPrefix(string(out), "unshare:") {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no folder can be mounted: %v %s", err, out)
		}
		t.Skipf("no folder can be mounted: %v %s", err, out)
	}
	if err == nil || !strings.Contains(string(out), "tools of personality default reach "+filepath.Join(dir, "ws")) {
		t.Errorf("backup = %v %s, want a refusal", err, out)
	}
}
