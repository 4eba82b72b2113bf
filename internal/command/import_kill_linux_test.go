package command

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/needs"
)

// importFolder returns a project with a client's file that starts one server, whose
// program needs no package.
func importFolder(t *testing.T) (dir string) {
	t.Helper()
	needs.Programs(t, "python3")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../gateway/upstream/testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, dir, "server.py", string(script))
	place(t, dir, ".mcp.json", `{"mcpServers": {"one": {"command": "/usr/bin/python3", "args": ["`+dir+`/server.py"]}}}`)
	return dir
}

// importedFiles are what an import changes in a project.
var importedFiles = []string{app.ConfigName, app.LockName, ".mcp.json", ".gitignore"}

// importedState says whether the files of a project are as before an import, or as
// after it.
func importedState(t *testing.T, dir string) string {
	t.Helper()
	state := ""
	for file, mark := range map[string]string{app.ConfigName: "one:", app.LockName: `"one"`, ".mcp.json": `"sallyport"`, ".gitignore": ".sallyport/"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		is := "before"
		if strings.Contains(string(text), mark) {
			is = "after"
		} else if err == nil && file != ".mcp.json" {
			is = "half"
		}
		if state == "" {
			state = is
		}
		if is != state {
			return file + " differs from the others"
		}
	}
	return state
}

// TestAKilledImportIsWhole ends an import at different points, by a signal that a
// program cannot catch and by the one of Ctrl-C. The next command finds all files as
// before or all as after, with nothing beside them, and the import can be run again.
func TestAKilledImportIsWhole(t *testing.T) {
	t.Parallel()
	atEachMoment(t, map[string]moment{
		"at once":               whenThere("."),
		"with the first record": whenThere(app.StateDir + "/state.db"),
		"with the first copy": func(dir string) func() bool {
			copied := copies.FolderOf(filepath.Join(dir, "home")).Pattern(filepath.Join(dir, ".mcp.json"))
			return func() bool { return len(matching(copied)) > 0 }
		},
		"with the note":          whenThere(stepNotes),
		"with the lock file":     whenThere(app.LockName),
		"with the configuration": whenThere(app.ConfigName),
	}, func(t *testing.T, when moment, signal syscall.Signal) {
		dir := importFolder(t)
		endCommand(t, dir, when, signal, "import", "claude-code", "--yes")
		runSallyport(t, dir, "explain", "read_file", "--path", "server.py")
		if state := importedState(t, dir); state != "before" && state != "after" {
			t.Errorf("after the next command: %s", state)
		}
		nothingBeside(t, dir, importedFiles...)
		runSallyport(t, dir, "import", "claude-code", "--yes")
		if state := importedState(t, dir); state != "after" {
			t.Errorf("after the import is run again: %s", state)
		}
		if out := runSallyport(t, dir, "call", "--personality", "claude-code", "mcp__one__echo", `{"text": "hi"}`); !strings.Contains(out, "hi") {
			t.Errorf("the server answers %q", out)
		}
		runSallyport(t, dir, "audit", "verify")
	})
}

// TestAKilledChangeOfAClientIsFinished ends connect and a rollback with their note. The
// next command in the folder of the configuration finishes what they began, and leaves
// nothing beside the client's file, which stays the same file.
func TestAKilledChangeOfAClientIsFinished(t *testing.T) {
	t.Parallel()
	const before = `{"mcpServers": {"one": {"command": "true"}}}`
	for _, args := range [][]string{{"connect", "claude-code"}, {"connect", "vscode"}, {"import", "--rollback", "claude-code"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			path := filepath.Join(dir, ".mcp.json")
			place(t, dir, ".mcp.json", before)
			if args[0] == "import" {
				runSallyport(t, dir, "connect", "claude-code")
			}
			was, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			endCommand(t, dir, whenThere(stepNotes), syscall.SIGKILL, args...)
			runSallyport(t, dir, "explain", "read_file", "--path", "notes.txt")
			if found := matching(filepath.Join(dir, stepNotes)); len(found) > 0 {
				t.Errorf("a note is left: %q", found)
			}
			nothingBeside(t, dir, ".mcp.json", ".vscode/mcp.json")
			runSallyport(t, dir, args...)
			text, err := os.ReadFile(path)
			if is, _ := os.Stat(path); err != nil || !os.SameFile(was, is) {
				t.Errorf("another file has the name (%v)", err)
			}
			if connected := strings.Contains(string(text), `"sallyport"`); connected != (args[1] == "claude-code") {
				t.Errorf("after %q is run again: %s", args, text)
			}
		})
	}
}

// TestTwoImportsAtOnce runs several imports of one client. Whatever their order, the
// files are those of one import, and no import tells of a success that is none.
func TestTwoImportsAtOnce(t *testing.T) {
	t.Parallel()
	dir := importFolder(t)
	type result struct {
		out []byte
		err error
	}
	results := make(chan result)
	for range 3 {
		go func() {
			out, err := sallyportCommand(dir, "import", "claude-code", "--yes").CombinedOutput()
			results <- result{out, err}
		}()
	}
	worked := 0
	for range 3 {
		r := <-results
		if r.err == nil {
			worked++
		} else if text := string(r.out); !strings.Contains(text, "was changed at the same time") && !strings.Contains(text, "run it again") {
			t.Errorf("an import beside another one: %v\n%s", r.err, r.out)
		}
	}
	if state := importedState(t, dir); worked == 0 || state != "after" {
		t.Errorf("%d imports worked, the files are %s", worked, state)
	}
	if out := runSallyport(t, dir, "call", "--personality", "claude-code", "mcp__one__echo", `{"text": "hi"}`); !strings.Contains(out, "hi") {
		t.Errorf("the server answers %q", out)
	}
}

// TestAnImportOfServersThatFailChangesNothing has no server that works.
func TestAnImportOfServersThatFailChangesNothing(t *testing.T) {
	t.Parallel()
	dir := importFolder(t)
	const settings = `{"mcpServers": {"gone": {"command": "/usr/bin/python3", "args": ["/none.py"]}, "closed": {"url": "http://127.0.0.1:1/mcp"}}}`
	place(t, dir, ".mcp.json", settings)
	runSallyport(t, dir, "import", "claude-code", "--yes")
	for _, file := range []string{app.ConfigName, app.LockName, ".gitignore"} {
		if _, err := os.Lstat(filepath.Join(dir, file)); err == nil {
			t.Errorf("%s was written", file)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, ".mcp.json")); err != nil || string(text) != settings {
		t.Errorf("the client's file is %q, %v", text, err)
	}
}
