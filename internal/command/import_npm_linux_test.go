package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestImportedServersOfNPM takes over published servers as a client's file has
// them, and calls each with no further edit.
func TestImportedServersOfNPM(t *testing.T) {
	t.Parallel()
	needNPX(t)
	p := packageFolderOver(t, "registry.npmjs.org:443", nil)
	place(t, p.dir, app.ConfigName, "version: 1\npersonalities:\n  default: {toolset: []}\n")
	place(t, p.dir, "client.json", `{"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "`+p.dir+`"]},
		"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
		"everything": {"command": "docker", "args": ["run", "-i", "--rm", "mcp/everything"]}
	}}`)
	args := []string{"import", "./client.json", "--personality", "ops", "--write"}
	for server, pkg := range map[string]string{"everything": npmServers[0], "files": npmServers[1], "memory": npmServers[2]} {
		args = append(args, "--pin", server+"="+pkg[strings.LastIndexByte(pkg, '@')+1:])
	}
	p.says(0, "servers: 3 ready", args...)
	p.says(0, "wrote ", "lock")
	for _, tt := range []struct{ tool, args, want string }{
		{"mcp__files__list_allowed_directories", `{}`, p.dir},
		{"mcp__files__write_file", `{"path":"` + p.dir + `/new","content":"written"}`, "Successfully wrote"},
		{"mcp__files__read_text_file", `{"path":"` + p.dir + `/new"}`, "written"},
		{"mcp__memory__create_entities", `{"entities":[{"name":"ann","entityType":"person","observations":["likes gates"]}]}`, "ann"},
		{"mcp__memory__search_nodes", `{"query":"ann"}`, "likes gates"},
		{"mcp__everything__echo", `{"message":"hello"}`, "Echo: hello"},
	} {
		p.says(0, tt.want, "call", "--personality", "ops", tt.tool, tt.args)
	}
	if text, err := os.ReadFile(filepath.Join(p.dir, "new")); string(text) != "written" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(p.dir, ".mcp-state", "memory", "memory.jsonl")); !strings.Contains(string(text), "likes gates") {
		t.Errorf("the memory is %q, %v, want what it was told", text, err)
	}
}
