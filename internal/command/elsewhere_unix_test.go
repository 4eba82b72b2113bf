//go:build unix

package command

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/granting"
	"github.com/sallyport/sallyport/internal/serverlist"
)

// TestAnotherFolderFindsTheRecordOfTheServer that runs, and each command that is shown
// there says which configuration it is for.
func TestAnotherFolderFindsTheRecordOfTheServer(t *testing.T) {
	t.Parallel()
	served, home := heldFolder(t, "0s"), t.TempDir()
	file := filepath.Join(served, app.ConfigName)
	run := func(dir string, args ...string) (said, warned string) {
		t.Helper()
		env, out := inFolder(t, dir)
		var stderr bytes.Buffer
		env.Stderr, env.Home, env.HintGrant = &stderr, home, granting.Hint
		runCommand(t.Context(), args, env)
		return out.String(), stderr.String()
	}
	run(served, "call", "write_file", `{"path":"a","content":"1"}`)
	refused, _ := run(served, "call", "read_file", `{"path":"/srv/data.txt"}`)
	m := regexp.MustCompile(`Call ID: (\w+)`).FindStringSubmatch(refused)
	if m == nil {
		t.Fatalf("the refused call said %q, want its id", refused)
	}

	other := t.TempDir()
	if out, warned := run(other, "approvals", "ls"); !strings.Contains(out, "no call is held") || !strings.Contains(warned, filepath.Join(other, app.StateDir)) {
		t.Errorf("without a server: %q %q, want the file that was looked at", out, warned)
	}
	add := func(dir string) {
		t.Helper()
		remove, err := serverlist.Add(serverlist.FolderOf(func(string) (string, bool) { return "", false }, home),
			serverlist.Entry{PID: os.Getpid(), Dir: dir, Config: []string{filepath.Join(dir, app.ConfigName)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = remove() })
	}
	add(served)
	if out, warned := run(other, "approvals", "ls"); !strings.Contains(out, "write_file") || !strings.Contains(warned, served) {
		t.Errorf("approvals ls = %q %q, want the held call and the folder of the server", out, warned)
	}
	if out, _ := run(other, "explain", "--call", m[1]); !strings.Contains(out, "grant writer --read /srv/data.txt --config "+file) {
		t.Errorf("explain --call in another folder = %q, want a command for %s", out, file)
	}
	if out, _ := run(served, "explain", "--call", m[1]); !strings.Contains(out, "grant writer --read /srv/data.txt\n") {
		t.Errorf("explain --call in the folder of the server = %q, want the short command", out)
	}
	add(t.TempDir())
	if _, warned := run(other, "approvals", "ls"); !strings.Contains(warned, "several servers run") || !strings.Contains(warned, "--config "+file) {
		t.Errorf("with two servers: %q, want both to choose from", warned)
	}
}
