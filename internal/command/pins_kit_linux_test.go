package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/needs"
)

// evil is a program that shows that it ran: the warning holds the last text
// that a server writes before it ends.
const evil = "import sys\nsys.exit('RAN')\n"

// pinnedServer is an MCP server that offers the contents of a file.
const pinnedServer = `import json, sys
def send(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
for line in sys.stdin:
    q = json.loads(line)
    if "id" not in q:
        continue
    if q["method"] == "initialize":
        send(q["id"], {"protocolVersion": q["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
    elif q["method"] == "tools/list":
        send(q["id"], {"tools": json.load(open(sys.argv[1]))})
    elif q["method"] != "tools/call":
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "error": {"code": -32601, "message": "no such method"}}), flush=True)
    else:
        send(q["id"], {"content": [{"type": "text", "text": "answered " + q["params"]["name"]}]})
`

// pinnedConfig declares that server.
const pinnedConfig = `version: 1
principals: {reader: {token_sha256: "TOKEN", personalities: [ops]}}
mcp_servers:
  notes: {command: [python3, ./server.py, ./tools.json], capabilities: {fs_reach: {read: from-personality}}}
MORE
personalities:
  ops: {toolset: [read_file], mcp_servers: [notesMORE_NAMES], fs_reach: {read: ["${workspace}"]}}
`

// pinnedFolder is a folder whose server is pinned in its present form.
type pinnedFolder struct {
	t   *testing.T
	dir string
}

// definitions returns tools with these names and descriptions.
func definitions(t *testing.T, pairs ...string) string {
	t.Helper()
	var list []map[string]any
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, map[string]any{"name": pairs[i], "description": pairs[i+1], "inputSchema": map[string]any{"type": "object"}})
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func newPinnedFolder(t *testing.T, pairs ...string) *pinnedFolder {
	t.Helper()
	needs.Programs(t, "python3")
	p := &pinnedFolder{t, configured(t, "")}
	p.configure("", "")
	p.write("server.py", pinnedServer)
	p.write("tools.json", definitions(t, pairs...))
	p.write("note", "a note")
	p.run(0, "lock")
	p.run(0, "check")
	return p
}

// configure declares more servers beside the pinned one.
func (p *pinnedFolder) configure(more, names string) {
	p.t.Helper()
	p.write(app.ConfigName, strings.NewReplacer("TOKEN", auth.HashToken(tokenOf("reader")), "MORE_NAMES", names, "MORE", more).Replace(pinnedConfig))
}

func (p *pinnedFolder) write(name, text string) {
	p.t.Helper()
	place(p.t, p.dir, name, text)
}

// run runs a command, which must end with a code, and returns all its output.
func (p *pinnedFolder) run(code int, args ...string) string {
	p.t.Helper()
	out, _ := p.try(code, args...)
	return out
}

func (p *pinnedFolder) try(code int, args ...string) (out string, ok bool) {
	p.t.Helper()
	got, text := tryHere(p.t, p.dir, args...)
	if got != code {
		p.t.Errorf("%v = %d, want %d\n%s", args, got, code, text)
	}
	return text, got == code
}

// says runs a command that must print one text and must not print another.
func (p *pinnedFolder) says(code int, want, never string, args ...string) {
	p.t.Helper()
	if out := p.run(code, args...); !strings.Contains(out, want) || never != "" && strings.Contains(out, never) {
		p.t.Errorf("%v says\n%s\nwant %q, and never %q", args, out, want, never)
	}
}

// expected returns the digest that diff shows for a server.
func (p *pinnedFolder) expected(server string) string {
	p.t.Helper()
	var d pinning.LockDiff
	cmd := sallyportCommand(p.dir, "diff", server, "--json")
	text, _ := cmd.Output()
	if err := json.Unmarshal(text, &d); err != nil || len(d.Servers) != 1 {
		p.t.Fatalf("diff = %s, %v", text, err)
	}
	return d.Servers[0].SHA256
}

const echoed = "answered echo"

func (p *pinnedFolder) works() {
	p.t.Helper()
	p.says(0, echoed, "", "call", "mcp__notes__echo", "{}")
}
