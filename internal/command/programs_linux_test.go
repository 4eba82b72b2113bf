package command

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// handlerFolder creates a folder in which an action runs a script of the
// workspace. One role may write that script.
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
	place(t, dir, app.ConfigName, `version: 1
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

// TestA14_AChangedHandlerDoesNotRun lets an agent change what an action runs,
// by writing the file and by replacing it with a link.
func TestA14_AChangedHandlerDoesNotRun(t *testing.T) {
	t.Parallel()
	for how, attack := range map[string]string{
		"written":          `cp evil.sh tools/greet.sh`,
		"replaced by link": `ln -sf ../evil.sh tools/greet.sh`,
		"folder by a link": `mkdir other; cp evil.sh other/greet.sh; mv tools old; ln -s other tools`,
	} {
		for what, handler := range map[string]string{
			"a path":                    `{path: ws/tools/greet.sh}`,
			"a script of a command":     `{command: [sh, "DIR/ws/tools/greet.sh"]}`,
			"a script of the workspace": `{command: [sh, tools/greet.sh]}`,
		} {
			t.Run(how+" "+what, func(t *testing.T) {
				t.Parallel()
				if how != "written" && what != "a path" {
					needs.LongRun(t, "every way to change each kind of handler")
				}
				dir := handlerFolder(t, handler, "}")
				s := serveHTTP(t, dir, "--personality", "caller")
				if out := say(dir, "call", "greet", "{}", "--personality", "caller"); !strings.Contains(out, "good") {
					t.Fatalf("before the attack the action says %q", out)
				}
				if out := say(dir, "check"); !strings.Contains(out, "personality writer may write there, so an agent can change what runs") {
					t.Errorf("check does not name the handler:\n%s", out)
				}
				if out := say(dir, "serve", "--strict", "--personality", "caller", "--listen", "127.0.0.1:0"); !strings.Contains(out, "--strict") {
					t.Errorf("serve --strict says %q", out)
				}
				if out := say(dir, "call", "terminal", `{"command":"`+attack+`"}`, "--personality", "writer"); !strings.Contains(out, "exit code: 0") {
					t.Fatalf("the attack did not run: %s", out)
				}
				if _, body := s.request(t, http.MethodPost, "/v1/actions/greet/execute", `{"params":{},"personality":"caller"}`, s.headers()); strings.Contains(body, "EVIL") {
					t.Errorf("a running server runs what the agent wrote: %s", body)
				}
				s.stop(t)
				for _, role := range []string{"caller", "writer"} {
					out := say(dir, "call", "greet", "{}", "--personality", role)
					if strings.Contains(out, "EVIL") || !strings.Contains(out, "is not currently available") {
						t.Errorf("the next command runs what the agent wrote: %s", out)
					}
				}
				config := filepath.Join(dir, app.ConfigName)
				if out := say(t.TempDir(), "check", "--config", config); !strings.Contains(out, "sallyport reach accept action greet --config "+config) {
					t.Errorf("from another folder check does not name the configuration:\n%s", out)
				}
				if out := say(dir, "check"); !strings.Contains(out, "sallyport reach accept action greet") {
					t.Errorf("check brings no fix:\n%s", out)
				}
				if how != "written" {
					return
				}
				if out := say(dir, "reach", "accept", "action", "greet"); !strings.Contains(out, "runs as it is now") {
					t.Errorf("reach accept says %q", out)
				}
				if out := say(dir, "call", "greet", "{}", "--personality", "caller"); !strings.Contains(out, "EVIL") {
					t.Errorf("what a person accepted does not run: %s", out)
				}
			})
		}
	}
}

// TestA14_ExecFromLetsAgentsChooseWhatRuns allows the folder of the handler by
// execFrom.
func TestA14_ExecFromLetsAgentsChooseWhatRuns(t *testing.T) {
	t.Parallel()
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

// TestA14_AChangedServerScriptIsNotStarted lets an agent change the script of a
// server that is not pinned, and then pins it.
func TestA14_AChangedServerScriptIsNotStarted(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "python3")
	script, err := os.ReadFile("../../gateway/upstream/testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	place(t, filepath.Join(dir, "ws"), "server.py", string(script))
	place(t, dir, app.ConfigName, `version: 1
workspace: ws
state: sqlite:.sallyport/state.db
mcp_servers: {notes: {command: [python3, ./ws/server.py]}}
personalities:
  ops: {toolset: [], mcp_servers: [notes]}
  writer: {toolset: [terminal], fs_reach: {read: ["${workspace}"], write: ["${workspace}"]}, safety: {process: {allow: ["*"]}}}
`)
	tools := func() string { return say(dir, "tools", "--personality", "ops") }
	if out := tools(); !strings.Contains(out, "mcp__notes__") {
		t.Fatalf("before the attack tools says\n%s", out)
	}
	if out := say(dir, "check"); !strings.Contains(out, "personality writer may write there") {
		t.Errorf("check does not name the script:\n%s", out)
	}
	if out := say(dir, "call", "terminal", `{"command":"echo '# evil' >>server.py"}`, "--personality", "writer"); !strings.Contains(out, "exit code: 0") {
		t.Fatalf("the attack did not run: %s", out)
	}
	if out := tools(); strings.Contains(out, "mcp__notes__") || !strings.Contains(out, "changed in a folder that tools may write") {
		t.Errorf("the next command starts what the agent wrote:\n%s", out)
	}
	if out := say(dir, "reach", "accept", "server", "notes"); !strings.Contains(out, "runs as it is now") {
		t.Errorf("reach accept says %q", out)
	}
	if out := tools(); !strings.Contains(out, "mcp__notes__") {
		t.Errorf("what a person accepted is not started:\n%s", out)
	}
	if out := say(dir, "lock"); strings.Contains(out, "sallyport: ") && !strings.Contains(out, "wrote") {
		t.Fatalf("lock says %s", out)
	}
	if out := say(dir, "check"); strings.Contains(out, "can change what runs") {
		t.Errorf("check names a server that is pinned:\n%s", out)
	}
}

// TestA14_WhatIsMissingIsHeldToo lets an agent change one file of a handler and
// remove another, and remove the only file before a server starts. In neither
// case does the state treat the handler as new.
func TestA14_WhatIsMissingIsHeldToo(t *testing.T) {
	t.Parallel()
	t.Run("one of two", func(t *testing.T) {
		dir := handlerFolder(t, `{command: [sh, tools/greet.sh, tools/more.sh]}`, "}")
		place(t, filepath.Join(dir, "ws", "tools"), "more.sh", "")
		if out := say(dir, "call", "greet", "{}", "--personality", "caller"); !strings.Contains(out, "good") {
			t.Fatalf("before the attack the action says %q", out)
		}
		say(dir, "call", "terminal", `{"command":"cp evil.sh tools/greet.sh; rm tools/more.sh"}`, "--personality", "writer")
		if out := say(dir, "call", "greet", "{}", "--personality", "caller"); !strings.Contains(out, "is not currently available") {
			t.Errorf("the next command runs what the agent wrote: %s", out)
		}
	})
	t.Run("while a server starts", func(t *testing.T) {
		dir := handlerFolder(t, `{command: [sh, tools/greet.sh]}`, "}")
		say(dir, "call", "terminal", `{"command":"rm tools/greet.sh"}`, "--personality", "writer")
		s := serveHTTP(t, dir, "--personality", "caller")
		say(dir, "call", "terminal", `{"command":"cp evil.sh tools/greet.sh"}`, "--personality", "writer")
		if _, body := s.request(t, http.MethodPost, "/v1/actions/greet/execute", `{"params":{},"personality":"caller"}`, s.headers()); !strings.Contains(body, "not_available") {
			t.Errorf("the server runs what the agent wrote: %s", body)
		}
	})
	t.Run("text of a shell", func(t *testing.T) {
		dir := handlerFolder(t, `{command: [sh, -c, "echo 1"]}`, "}")
		if out := say(dir, "check"); strings.Contains(out, "can change what runs") {
			t.Errorf("check takes a text for a file:\n%s", out)
		}
	})
}

// TestA14_WhatLiesInAHandlersPlaceStopsNothing lets an agent put things in the
// place of a handler that are no programs: the action is gone, and everything
// else works.
func TestA14_WhatLiesInAHandlersPlaceStopsNothing(t *testing.T) {
	t.Parallel()
	for _, attack := range []string{
		"rm tools/greet.sh", "rm tools/greet.sh; mkfifo tools/greet.sh", "rm tools/greet.sh; mkdir tools/greet.sh",
		"ln -sf greet.sh tools/greet.sh", "rm -r tools; touch tools",
	} {
		for _, handler := range []string{`{path: ws/tools/greet.sh}`, `{command: [sh, "DIR/ws/tools/greet.sh"]}`} {
			dir := handlerFolder(t, handler, "}")
			if out := say(dir, "call", "terminal", `{"command":"`+attack+`"}`, "--personality", "writer"); !strings.Contains(out, "exit code: 0") {
				t.Fatalf("the attack did not run: %s", out)
			}
			if out := say(dir, "call", "terminal", `{"command":"echo on"}`, "--personality", "writer"); !strings.Contains(out, "exit code: 0") {
				t.Errorf("%s: %s: the next command says %s", handler, attack, out)
			}
			if out := say(dir, "call", "greet", "{}", "--personality", "caller"); !strings.Contains(out, "greet is not currently available") {
				t.Errorf("%s: %s: the action says %s", handler, attack, out)
			}
		}
	}
}
