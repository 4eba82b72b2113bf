package command

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/profiles"
)

// TestWhatAProfileSaysHoldsCalls imports a known server, whose profile says what its tools
// do: a call that it says cannot be taken back is held after untrusted content, and what
// the operator writes in its place decides.
func TestWhatAProfileSaysHoldsCalls(t *testing.T) {
	t.Parallel()
	const name = "@modelcontextprotocol/server-memory"
	known := profiles.Of(profiles.NPM, name)
	tools := []map[string]any{}
	for _, tool := range append(slices.Sorted(maps.Keys(known.Effects)), "new_tool") {
		tools = append(tools, map[string]any{"name": tool, "inputSchema": map[string]any{"type": "object"}})
	}
	list, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	program := strings.Replace(packaged, `[{name: "echo", inputSchema: {type: "object"}}]`, string(list), 1)
	p := newPackageFolder(t, newNPMStandInOf(t, "registry.example.org", name, program, "1.2.3"))
	place(t, p.dir, app.ConfigName, "version: 2\npersonalities:\n  ops:\n    toolset: []\nprincipals:\n  agent: {token_sha256: \""+strings.Repeat("ab", 32)+"\", personalities: [ops]}\n")
	client := `{"mcpServers": {"graph": {"command": "npx", "args": ["-y", "` + name + `@1.2.3"]}}}`
	place(t, p.dir, "mcp.json", client)
	p.says(0, "\n      delete_entities: {does: [\"irrevocable\"]}\n", "import", "./mcp.json", "--personality", "ops")
	p.says(0, "undo: ", "import", "./mcp.json", "--personality", "ops", "--write")
	p.says(0, "wrote ", "lock")
	p.says(0, "graph", "check")

	call := func(code int, want, tool, session string) {
		t.Helper()
		p.says(code, want, "call", "--principal", "agent", "--session", session, "mcp__graph__"+tool, "{}")
	}
	call(0, "answered", "delete_entities", "fresh")
	call(0, "answered", "read_graph", "read") // from now on untrusted content was read
	call(1, "approval", "delete_entities", "read")
	call(0, "answered", "delete_relations", "read")
	call(0, "answered", "search_nodes", "read")

	// An entry of the operator's own wins, also over another import.
	path := filepath.Join(p.dir, app.ConfigName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `delete_entities: {does: ["irrevocable"]}`, `delete_entities: {does: [revocable]}`, 1)
	place(t, p.dir, app.ConfigName, strings.Replace(changed, `delete_relations: {does: ["revocable"]}`, `delete_relations: {does: [irrevocable]}`, 1))
	place(t, p.dir, "mcp.json", client)
	p.says(0, "declared at", "import", "./mcp.json", "--personality", "ops", "--write")
	call(0, "answered", "delete_entities", "read")
	call(1, "approval", "delete_relations", "read")
	place(t, p.dir, app.ConfigName, strings.Replace(changed, "  ops:\n", "  ops:\n    effects: {mcp__graph__delete_entities: {does: [irrevocable]}}\n", 1))
	p.says(0, "ops", "check")
	call(1, "approval", "delete_entities", "read")
}
