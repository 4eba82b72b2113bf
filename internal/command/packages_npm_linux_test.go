package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestPackagesOfNPM runs published servers with the launcher that their pages
// name, and pins them. The arguments of the file server allow it everything; it
// reads only what its role reaches.
func TestPackagesOfNPM(t *testing.T) {
	t.Parallel()
	needNPX(t)
	p := packageFolderOver(t, "registry.npmjs.org:443", nil)
	outside := t.TempDir()
	place(t, outside, "note", "the note of outside")
	place(t, p.dir, "note", "the note of work")
	declare := func(root string) {
		t.Helper()
		place(t, p.dir, app.ConfigName, `version: 1
mcp_servers:
  everything: {command: [npx, -y, "`+npmServers[0]+`"]}
  files: {command: [npx, -y, "`+npmServers[1]+`", `+root+`], capabilities: {fs_reach: {read: ["${workspace}"]}}}
personalities:
  ops: {toolset: [], mcp_servers: [everything, files], fs_reach: {read: ["${workspace}"]}}
`)
	}
	declare("/")
	p.says(1, "is not pinned: sallyport lock pins what it is now", "check")
	p.says(0, "wrote ", "lock")
	p.says(0, "answers", "check")
	for _, tt := range []struct {
		tool, args, want string
		code             int
	}{
		{"mcp__everything__echo", `{"message":"hello"}`, "Echo: hello", 0},
		{"mcp__files__read_text_file", `{"path":"` + p.dir + `/note"}`, "the note of work", 0},
		{"mcp__files__read_text_file", `{"path":"` + outside + `/note"}`, "no such file", 1},
		{"mcp__files__write_file", `{"path":"` + p.dir + `/new","content":"x"}`, "", 1},
	} {
		p.says(tt.code, tt.want, "call", tt.tool, tt.args)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "new")); err == nil {
		t.Error("a server wrote where its declaration reads alone")
	}

	// Another argument is another server until an operator approves it.
	declare("/etc")
	p.says(1, "Unknown tool", "call", "mcp__files__list_allowed_directories")
	_, command, _ := strings.Cut(p.says(1, "critical server command: another command is run", "diff", "files"), "accept: sallyport ")
	command, _, _ = strings.Cut(command, "\n")
	p.says(0, "pinned files as it is", strings.Fields(command)...)
	p.says(0, "", "check")

	// Another file of a dependency also makes it another server.
	found, err := filepath.Glob(filepath.Join(p.dir, app.StateDir, "packages", "@modelcontextprotocol+server-everything@*", "package", "node_modules", "zod", "package.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("what the package needs is not where it was: %v, %v", found, err)
	}
	if err := os.Chmod(found[0], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(found[0], []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.says(1, "was changed", "call", "mcp__everything__echo", `{"message":"hello"}`)
	p.says(1, "was changed", "check")
}
