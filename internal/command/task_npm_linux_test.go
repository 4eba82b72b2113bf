package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// typeScriptSDK is the official SDK with which the sub-agent of the page was written.
const typeScriptSDK = "@modelcontextprotocol/sdk@1.32.2"

// TestATaskWithTheTypeScriptSDK runs the program of the page on tasks, as it stands there,
// in the sandbox.
func TestATaskWithTheTypeScriptSDK(t *testing.T) {
	t.Parallel()
	needs.NPM(t, "the TypeScript SDK")
	needs.Programs(t, "node")
	page, err := os.ReadFile("../../docs/guides/tasks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(page), "```js\n")
	program, _, ok := strings.Cut(program, "```")
	if !ok {
		t.Fatal("the page on tasks has no program")
	}
	dir := configured(t, `version: 2
state: sqlite:.sallyport/state.db
personalities:
  worker: {toolset: [task, read_file, list_files], fs_reach: {read: ["${workspace}/files", "${workspace}/node_modules", "${workspace}/package.json"]}}
task:
  runner: {handler: ./agent.mjs, timeout: 60s, capabilities: {fs_reach: {read: ["${workspace}/node_modules", "${workspace}/package.json"]}}}
`)
	place(t, dir, "agent.mjs", program)
	place(t, dir, "package.json", `{"private": true}`)
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	place(t, dir, "files/note.txt", "a note for the sub-agent")
	install := exec.CommandContext(t.Context(), needs.Program(t, "npm"), "install", "--ignore-scripts", "--no-audit", "--no-fund", typeScriptSDK)
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	out, err := sallyportCommand(dir, "--json", "call", "task", `{"prompt":"files/note.txt","tools":["read_file"]}`).Output()
	if err != nil || !strings.Contains(string(out), "a note for the sub-agent") || !strings.Contains(string(out), `"tools":["read_file"]`) {
		t.Errorf("the task: %v, %s", err, out)
	}
	out, _ = sallyportCommand(dir, "--json", "call", "task", fmt.Sprintf(`{"prompt":%q}`, "/etc/passwd")).Output()
	if strings.Contains(string(out), "root:") || !strings.Contains(string(out), "PATH_NOT_REACHABLE") {
		t.Errorf("a file that its caller may not read: %s", out)
	}
}
