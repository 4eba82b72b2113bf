package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/needs"
)

// imported imports one server of Cursor and starts what Cursor's file then
// names, as Cursor would.
func imported(t *testing.T, dir, server string) *mcp.ClientSession {
	t.Helper()
	settings := filepath.Join(dir, "home", ".cursor")
	if err := os.MkdirAll(settings, 0o755); err != nil {
		t.Fatal(err)
	}
	place(t, settings, "mcp.json", `{"mcpServers": {"one": `+server+`}}`)
	runSallyport(t, dir, "init")
	runSallyport(t, dir, "import", "cursor", "--write")
	runSallyport(t, dir, "lock")
	text, err := os.ReadFile(filepath.Join(settings, "mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Servers) != 1 {
		t.Fatalf("the file is %s: %v", text, err)
	}
	entry := file.Servers["sallyport"]
	// The entry holds the path of the test binary; the tests start the binary
	// by its name.
	if entry.Command == "" || !strings.Contains(strings.Join(entry.Args, " "), "--personality cursor") {
		t.Fatalf("the entry is %v", entry)
	}
	elsewhere := sallyportCommand(dir, entry.Args...)
	elsewhere.Dir = t.TempDir()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "cursor", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: elsewhere}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// toolsIn lists the tools of a session.
func toolsIn(t *testing.T, session *mcp.ClientSession) (names []string) {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// answerOf returns the text of a call.
func answerOf(t *testing.T, session *mcp.ClientSession, tool string, args map[string]any) (text string, failed bool) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, res.IsError
}

// TestTheImportedServerIsServed imports a server and calls it as the client
// does after the import.
func TestTheImportedServerIsServed(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "python3")
	dir := t.TempDir()
	script, err := filepath.Abs("../../gateway/upstream/testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	place(t, dir, "server.py", string(text))
	session := imported(t, dir, `{"command": "/usr/bin/python3", "args": ["`+dir+`/server.py"], "env": {"GREETING": "info"}}`)
	if names := toolsIn(t, session); !slices.Contains(names, "mcp__one__echo") || slices.Contains(names, "read_file") {
		t.Errorf("tools = %v, want those of the server and no others", names)
	}
	if text, failed := answerOf(t, session, "mcp__one__echo", map[string]any{"text": "hi"}); failed || !strings.Contains(text, "hi") {
		t.Errorf("echo = %q, %v", text, failed)
	}
	if text, failed := answerOf(t, session, "mcp__one__env", map[string]any{}); failed || !strings.Contains(text, "GREETING") {
		t.Errorf("env = %q, %v, want the variable of the client's file", text, failed)
	}
}

// TestImportTriesEveryServer takes over the one server of three that works: the
// second does not start, and the third does not answer the first call.
func TestImportTriesEveryServer(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "python3")
	dir := t.TempDir()
	script, err := os.ReadFile("../../gateway/upstream/testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	graph := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-memory")
	if err := os.MkdirAll(graph, 0o755); err != nil {
		t.Fatal(err)
	}
	place(t, dir, "server.py", string(script))
	place(t, graph, "server.py", string(script))
	python := func(path string) string { return `{"command": "/usr/bin/python3", "args": ["` + path + `"]}` }
	place(t, dir, "mcp.json", `{"mcpServers": {"one": `+python(dir+"/server.py")+`, "gone": `+python(dir+"/none.py")+`, "graph": `+python(graph+"/server.py")+`}}`)
	runSallyport(t, dir, "init")
	// A server that is there already, and not pinned, goes on.
	config, err := os.ReadFile(filepath.Join(dir, "sallyport.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	place(t, dir, "before.py", string(script))
	place(t, dir, "sallyport.yaml", strings.Replace(string(config), "  default:\n", "  default:\n    mcp_servers: [before]\n", 1)+
		"mcp_servers:\n  before: {command: [python3, "+dir+"/before.py], capabilities: {fs_reach: {read: ["+dir+"]}}}\n")
	out := runSallyport(t, dir, "import", "./mcp.json", "--yes")
	for _, want := range []string{"gone, left: ", "can't open file", "graph, left: read_graph answers Unknown tool"} {
		if !strings.Contains(out, want) {
			t.Errorf("import says %q, want %q in it", out, want)
		}
	}
	runSallyport(t, dir, "import", "./mcp.json", "--yes") // finds nothing more that works
	for file, want := range map[string][2]string{"mcp.json": {"gone", `"one"`}, "sallyport.yaml": {"one:", "graph:"}, "sallyport.lock": {`"one"`, `"graph"`}, "./sallyport.lock": {`"before"`, `"gone"`}} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(text), want[0]) || strings.Contains(string(text), want[1]) {
			t.Errorf("%s (%v) has no %s, or has %s:\n%s", file, err, want[0], want[1], text)
		}
	}
	if out = runSallyport(t, dir, "call", "--personality", "imported", "mcp__one__echo", `{"text": "hi"}`); !strings.Contains(out, "hi") {
		t.Errorf("the server that was taken over answers %q", out)
	}
}

// TestTheImportedPackageIsServed imports a server that the client fetches as a
// package. Here it runs from the copy that lock installed.
func TestTheImportedPackageIsServed(t *testing.T) {
	t.Parallel()
	p := newPackageFolder(t, newNPMStandIn(t, "1.2.3"))
	place(t, p.dir, "mcp.json", `{"mcpServers": {"one": {"command": "npx", "args": ["-y", "notes-server", "--all"]}}}`)
	p.says(0, "wrote ", "init")
	p.says(0, "notes-server has no exact version", "import", "./mcp.json")
	p.says(0, "undo: sallyport import --rollback ./mcp.json", "import", "./mcp.json", "--write", "--pin", "one=1.2.3")
	p.says(0, "wrote ", "lock")
	p.says(0, "answered --all", "call", "--personality", "imported", "mcp__one__echo", "{}")
	p.says(1, "not permitted", "call", "--personality", "default", "mcp__one__echo", "{}")
}
