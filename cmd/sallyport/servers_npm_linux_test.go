package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// The servers that this test was written with.
const (
	everythingPackage = "@modelcontextprotocol/server-everything@2026.8.31"
	filesystemPackage = "@modelcontextprotocol/server-filesystem@2026.8.31"
)

// TestServersOfNPM mounts servers that others wrote. The one for files is told
// that it may read everything, and reads what its role reaches.
func TestServersOfNPM(t *testing.T) {
	needNPX(t)
	needs.Programs(t, "node")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store, work, outside := filepath.Join(dir, "store"), filepath.Join(dir, "work"), filepath.Join(dir, "outside")
	for _, d := range []string{store, work, outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		place(t, d, "note", "the note of "+filepath.Base(d))
	}
	install := exec.CommandContext(t.Context(), "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", everythingPackage, filesystemPackage)
	install.Dir = store
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	place(t, work, configName, strings.ReplaceAll(`version: 1
mcp_servers:
  everything:
    command: [node, STORE/node_modules/@modelcontextprotocol/server-everything/dist/index.js]
    capabilities: {fs_reach: {read: [STORE]}}
  files:
    command: [node, STORE/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js, /]
    capabilities: {fs_reach: {read: [STORE, "${workspace}"]}}
personalities:
  ops: {toolset: [], mcp_servers: [everything, files], fs_reach: {read: [STORE, "${workspace}"]}}
`, "STORE", store))

	sallyport := func(args ...string) (string, bool) {
		t.Helper()
		out, err := sallyportCommand(work, args...).CombinedOutput()
		return string(out), err == nil
	}
	if out, ok := sallyport("check"); !ok {
		t.Errorf("check failed:\n%s", out)
	}
	if out, ok := sallyport("tools"); !ok || !strings.Contains(out, "mcp__everything__get-sum") || !strings.Contains(out, "mcp__files__read_text_file") {
		t.Errorf("tools lists\n%s", out)
	}
	for _, tt := range []struct {
		tool, args, want string
		ok               bool
	}{
		{"mcp__everything__echo", `{"message":"hello"}`, "Echo: hello", true},
		{"mcp__files__read_text_file", `{"path":"` + work + `/note"}`, "the note of work", true},
		{"mcp__files__read_text_file", `{"path":"` + outside + `/note"}`, "no such file", false},
		{"mcp__files__read_text_file", `{"path":"/etc/shadow"}`, "no such file", false},
		{"mcp__files__write_file", `{"path":"` + work + `/new","content":"x"}`, "", false},
	} {
		if out, ok := sallyport("call", tt.tool, tt.args); ok != tt.ok || !strings.Contains(out, tt.want) || strings.Contains(out, "the note of outside") {
			t.Errorf("call %s %s = %v:\n%s\nwant %v, %q", tt.tool, tt.args, ok, out, tt.ok, tt.want)
		}
	}
	if _, err := os.Stat(filepath.Join(work, "new")); err == nil {
		t.Error("a server wrote where its declaration reads alone")
	}
}
