package command

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestGrantWritesConfigurationAndLock grants a folder to a pinned server. The server
// goes on without another step, and a widening by hand stays blocked.
func TestGrantWritesConfigurationAndLock(t *testing.T) {
	t.Parallel()
	p := newPinnedFolder(t, "echo", "Says it.")
	env, out := inFolder(t, p.dir)
	var asked strings.Builder
	env.Stderr, env.stdin, env.terminal = &asked, io.NopCloser(strings.NewReader("no\n")), true
	if code := runCommand(t.Context(), []string{"grant", "notes", "--write", "out"}, env); code != exitFailed || !strings.Contains(asked.String(), "write this? [y/N] ") {
		t.Errorf("grant and no = %d\n%s%s", code, out, &asked)
	}
	p.works()
	p.run(0, "grant", "notes", "--write", "out", "--yes")
	p.works()
	p.says(0, "everything is as ", "", "diff")
	path := filepath.Join(p.dir, app.ConfigName)
	granted, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(granted), `{read: from-personality, write: ["${workspace}/out"]}`) || !strings.Contains(string(granted), `fs_reach: {read: ["${workspace}"], write: ["${workspace}/out"]}`) {
		t.Errorf("the configuration is\n%s", granted)
	}
	p.write(app.ConfigName, strings.Replace(string(granted), `from-personality, write: ["${workspace}/out"]`, `from-personality, write: ["${workspace}"]`, 1))
	p.says(1, "the server may write, or execute, something new", "", "check")
	p.says(2, "is not what is pinned: the server may write, or execute, something new. Look at it first: sallyport lock accept notes", "", "grant", "notes", "--read", "/usr/share", "--yes")
	p.write(app.ConfigName, string(granted))
	p.run(0, "revoke", "notes", "--write", "out", "--yes")
	p.says(0, "everything is as ", "", "diff")
}

// TestACommandCompletesAnInterruptedGrant leaves what a grant leaves that was killed
// after its note. The next command completes it.
func TestACommandCompletesAnInterruptedGrant(t *testing.T) {
	t.Parallel()
	dir := configured(t, "")
	path := filepath.Join(dir, app.ConfigName)
	before, after := "version: 1\npersonalities: {ops: {toolset: []}}\n", "version: 1\npersonalities: {other: {toolset: []}}\n"
	place(t, dir, app.ConfigName, before)
	note, err := json.Marshal(map[string]any{"files": []any{map[string]any{"path": path, "old": []byte(before), "new": []byte(after)}}})
	if err != nil {
		t.Fatal(err)
	}
	env, out := inFolder(t, dir)
	// A note in the folder of the project is not the user's: a repository brings it along.
	own := filepath.Join(dir, ".sallyport")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, dir, app.ConfigName, before)
	place(t, own, "step.json", string(note))
	if code := runCommand(t.Context(), []string{"tools", "--personality", "ops"}, env); code != exitDone {
		t.Errorf("tools = %d\n%s", code, out)
	}
	folder, err := env.StepFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, folder, "step.json", string(note))
	// Half of the new text is a configuration with faults.
	place(t, dir, app.ConfigName, after[:len("version: 1\npersonalities: {oth")]+before[len("version: 1\npersonalities: {oth"):])
	var told strings.Builder
	env.Stderr = &told
	if code := runCommand(t.Context(), []string{"tools", "--personality", "other"}, env); code != exitDone || !strings.Contains(told.String(), "completed a change that was interrupted") {
		t.Errorf("tools = %d\n%s%s", code, out, &told)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != after {
		t.Errorf("the configuration is %q, %v", got, err)
	}
}
