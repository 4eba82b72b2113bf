package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// TestARunningChildDoesNotGetTheConfiguration has a child that may write the folder of
// the configuration write into it, and into whatever waits beside it, as fast as it can.
func TestARunningChildDoesNotGetTheConfiguration(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash")
	dir, text, b := stoppedFolder(t, "example.com")
	text = strings.Replace(text, `write: ["${workspace}/out"]`, `write: ["${workspace}"]`, 1)
	place(t, dir, app.ConfigName, text)
	s := serveWatched(t, dir)
	attack := `{"command":"while :; do for f in sallyport.yaml .sallyport.*; do [ -e $f ] && echo '# mine' >> $f && echo $f >> out/got; done 2>&-; date +%s%N > out/beat; done"}`
	s.wants(t, tokenOf("reader"), "process_start", attack, 200)
	b.await(t, "beat")

	// A grant leaves the file where the child cannot write it, and the child runs on.
	from := s.told.len()
	if code := runCommand(t.Context(), []string{"grant", "ops", "--host", "api.example.com", "--yes"}, folderEnv(t, dir)); code != exitDone {
		t.Fatalf("grant = %d", code)
	}
	s.told.await(t, from, inForce)
	b.await(t, "beat")
	path := filepath.Join(dir, app.ConfigName)
	granted, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(granted), "mine") || !strings.Contains(string(granted), "api.example.com") {
		t.Errorf("after the grant the configuration is %v\n%s", err, granted)
	}
	if got, err := os.ReadFile(b.path("got")); err == nil {
		t.Errorf("the child wrote %s", got)
	}
	if got := endsIn(t, dir, "run.end"); len(got) != 0 {
		t.Errorf("the grant ended %q", got)
	}

	// An editor that puts another file in its place takes the cover off it: the child ends.
	from = s.told.len()
	aside := filepath.Join(t.TempDir(), "new")
	if err := os.WriteFile(aside, granted, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, path); err != nil {
		t.Fatal(err)
	}
	s.told.await(t, from, "sallyport.yaml was removed or replaced by another file")
	b.still(t, "beat")
	if got := strings.Join(endsIn(t, dir, "run.end"), "\n"); !strings.Contains(got, "process_start: process bash") {
		t.Errorf("recorded ends = %q", got)
	}
	s.stop(t)
}

// folderEnv is the environment of a command in a folder.
func folderEnv(t *testing.T, dir string) *environment {
	t.Helper()
	env, _ := inFolder(t, dir)
	return env
}

// TestAChildDoesNotMakeTheUsersFolders has a child that may write the user's home plant
// what the next command would act on.
func TestAChildDoesNotMakeTheUsersFolders(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash")
	dir := configured(t, `version: 1
personalities:
  ops: {toolset: ["@terminal"], fs_reach: {read: ["${home}"], write: ["${home}"]}}
`)
	env, out := inFolder(t, dir)
	env.Lookup = func(name string) (string, bool) { return filepath.Join(dir, "states"), name == "XDG_STATE_HOME" }
	code := runCommand(t.Context(), []string{"call", "terminal", `{"command":"touch here; mkdir -p .local/state/sallyport/steps/x; mkdir -p states/sallyport/servers/x states/sallyport/other"}`}, env)
	if _, err := os.Stat(filepath.Join(dir, "here")); err != nil {
		t.Fatalf("call = %d, the child does not write its home: %v\n%s", code, err, out)
	}
	for _, made := range []string{".local/state/sallyport/steps", "states/sallyport/servers/x", "states/sallyport/other"} {
		if _, err := os.Stat(filepath.Join(dir, made)); !os.IsNotExist(err) {
			t.Errorf("the child made %s: %v", made, err)
		}
	}
}
