package command

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// mumblingServer is an MCP server whose failures say nothing of what it could not reach.
const mumblingServer = `import json, socket, sys
def send(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
def fail(text):
    return {"content": [{"type": "text", "text": text}], "isError": True}
def call(name):
    if name == "denies":
        return fail("EACCES")
    try:
        socket.getaddrinfo("db.example" if name == "asks" else "granted.example", 443)
        if name == "connects":
            socket.create_connection(("192.0.2.1", 5432), 2)
    except OSError:
        pass
    return fail("fetch failed" if name == "connects" else "it did not work")
for line in sys.stdin:
    q = json.loads(line)
    if "id" not in q:
        continue
    if q["method"] == "initialize":
        send(q["id"], {"protocolVersion": q["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
    elif q["method"] == "tools/list":
        send(q["id"], {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ["asks", "connects", "denies", "stays"]]})
    elif q["method"] == "tools/call":
        send(q["id"], call(q["params"]["name"]))
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "error": {"code": -32601, "message": "no such method"}}), flush=True)
`

// TestAServerThatNamesNothingIsExplained calls a server whose words and arguments name
// no host and no path. What its sandbox saw is told, and else how the operator finds out.
func TestAServerThatNamesNothingIsExplained(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "python3")
	p := &pinnedFolder{t, configured(t, "")}
	p.write(app.ConfigName, `version: 1
mcp_servers: {notes: {command: [python3, ./server.py], capabilities: {network: {allowedHosts: [granted.example]}}}}
personalities: {ops: {toolset: [read_file], mcp_servers: [notes], safety: {network: {allow: [granted.example]}}}}
`)
	p.write("server.py", mumblingServer)
	p.run(0, "lock")
	const observe = `; to allow it: sallyport observe --workspace \S+ --config \S+ -- python3 \S*server\.py, which shows what it needs; more: `
	for tool, want := range map[string]string{
		"asks": `refused: mcp__notes__asks db\.example: a child of python3 was refused \d times: .*; to allow it: sallyport grant notes --host db\.example --config `,
		"connects": `refused: mcp__notes__connects: a child said "fetch failed" and named no host; ` +
			`it asked for no host that it may not reach, and no other way leads out` + observe,
		"denies": `refused: mcp__notes__denies: a child said "EACCES" and named no path; the kernel does not tell which paths it kept from a child` + observe,
	} {
		_, stderr := p.call("mcp__notes__" + tool)
		if !regexp.MustCompile(want).MatchString(stderr) {
			t.Errorf("a call of %s tells the operator\n%s\nwant %s", tool, stderr, want)
			continue
		}
		id := toldFix.FindStringSubmatch(stderr)[2]
		p.says(0, "deny access", "", "explain", "--call", id)
	}
	if _, stderr := p.call("mcp__notes__stays"); strings.Contains(stderr, "refused") {
		t.Errorf("a failure without a reason tells the operator\n%s", stderr)
	}
}
