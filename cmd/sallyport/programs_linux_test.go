package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// handlerFolder is a folder in which an action runs a script of the workspace, which
// one role may write.
func handlerFolder(t *testing.T, handler, more string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"ws/tools/greet.sh": "echo '\"good\"'\n", "ws/evil.sh": "echo '\"EVIL\"'\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	place(t, dir, configName, `version: 1
workspace: ws
state: sqlite:.sallyport/state.db
actions:
  - id: greet
    description: Greets.
    parameters: {type: object, properties: {}}
    capabilities: {fs_reach: {read: ["${workspace}/tools"]`+more+`}
    handler: {exec: `+strings.ReplaceAll(handler, "DIR", dir)+`}
personalities:
  writer:
    toolset: [terminal, write_file, greet]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}"]}
    safety: {process: {allow: ["*"]}}
  caller:
    toolset: [greet]
    fs_reach: {read: ["${workspace}/tools"], write: ["${workspace}/tools"]}
    safety: {process: {allow: ["*"]}}
`)
	return dir
}

// TestA14_ExecFromLetsAgentsChooseWhatRuns names the folder of the handler.
func TestA14_ExecFromLetsAgentsChooseWhatRuns(t *testing.T) {
	dir := handlerFolder(t, `{command: [sh, "DIR/ws/tools/greet.sh"]}`, `, write: ["${workspace}/tools"]}, process: {allowedBinaries: [sh], execFrom: ["${workspace}/tools"]}`)
	if out := say(dir, "check"); strings.Contains(out, "can change what runs") {
		t.Errorf("check names a handler that execFrom lets run:\n%s", out)
	}
	if out := say(dir, "call", "terminal", `{"command":"cp evil.sh tools/greet.sh"}`, "--personality", "writer"); !strings.Contains(out, "exit code: 0") {
		t.Fatalf("the change did not run: %s", out)
	}
	if out := say(dir, "call", "greet", "{}", "--personality", "caller"); !strings.Contains(out, "EVIL") {
		t.Errorf("the changed handler says %q", out)
	}
}
