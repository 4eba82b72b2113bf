package command

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// formsServer is an MCP server with tools, prompts and resources, as a file lists them.
const formsServer = `import json, sys
def send(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
offers = json.load(open(sys.argv[1]))
for line in sys.stdin:
    q = json.loads(line)
    method = q["method"]
    if "id" not in q:
        continue
    if method == "initialize":
        can = {name.split("/")[0]: {} for name in offers}
        send(q["id"], {"protocolVersion": q["params"]["protocolVersion"], "capabilities": can, "serverInfo": {"name": "s", "version": "1"}})
    elif method.endswith("/list"):
        send(q["id"], {method.split("/")[-2]: offers.get(method[:-len("/list")], []), "resourceTemplates": offers.get("resources/templates", [])})
    elif method == "tools/call":
        send(q["id"], {"content": [{"type": "text", "text": "answered"}]})
    elif method == "prompts/get":
        send(q["id"], {"messages": [{"role": "user", "content": {"type": "text", "text": "answered"}}]})
    elif method == "resources/read":
        send(q["id"], {"contents": [{"uri": q["params"]["uri"], "text": "answered"}]})
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "error": {"code": -32601, "message": "no such method"}}), flush=True)
`

// formsOffered is what that server offers when it is pinned.
const formsOffered = `{"tools": [{"name": "echo", "inputSchema": {"type": "object"}}, {"name": "stays", "inputSchema": {"type": "object"}}],
"prompts": [{"name": "greet", "description": "Greets."}, {"name": "stays"}],
"resources": [{"name": "today", "uri": "notes:///today"}], "resources/templates": [{"name": "days", "uriTemplate": "notes:///day/{n}"}]}
`

// TestEveryFormThatIsMissingNamesTheCommand calls tools, prompts and resources of a
// server that is blocked, that offers them otherwise, or that does not offer them any
// more. The caller learns nothing of it.
func TestEveryFormThatIsMissingNamesTheCommand(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "python3")
	blocked := func(p *pinnedFolder) { p.write("server.py", "# changed\n"+formsServer) }
	offers := func(text string) func(p *pinnedFolder) {
		return func(p *pinnedFolder) { p.write("offers.json", text) }
	}
	less := offers(`{"tools": [{"name": "stays", "inputSchema": {"type": "object"}}], "prompts": [{"name": "stays"}]}`)
	other := offers(strings.NewReplacer("Greets.", "Greets loudly.", `"name": "today"`, `"name": "now"`, `"name": "days"`, `"name": "nights"`).Replace(formsOffered))
	const (
		notStarted = "the MCP server notes is not started: another script is run, or its content changed"
		held       = "what the MCP server notes offers by this name is held back: the definition is not the pinned one"
		gone       = "the MCP server notes does not offer it any more, and it is pinned"
	)
	for _, tt := range []struct {
		name, why string
		change    func(p *pinnedFolder)
		calls     map[string]string // with their arguments
	}{
		{"blocked", notStarted, blocked, map[string]string{
			"mcp__notes__echo": `{}`, "prompt:mcp__notes__greet": `{}`, "resource:mcp__notes__resources": `{"uri":"notes:///today"}`,
			"resource:notes:///today": `{}`, "resource:notes:///day/3": `{}`,
		}},
		{"offered otherwise", held, other, map[string]string{
			"prompt:mcp__notes__greet": `{}`, "resource:notes:///today": `{}`, "resource:notes:///day/3": `{}`, "resource:mcp__notes__resources": `{"uri":"notes:///today"}`,
		}},
		{"not offered any more", gone, less, map[string]string{
			"mcp__notes__echo": `{}`, "prompt:mcp__notes__greet": `{}`, "resource:mcp__notes__resources": `{"uri":"notes:///today"}`,
			"resource:notes:///today": `{}`, "resource:notes:///day/3": `{}`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &pinnedFolder{t, configured(t, "")}
			p.write(app.ConfigName, `version: 1
mcp_servers: {notes: {command: [python3, ./server.py, ./offers.json], capabilities: {fs_reach: {read: from-personality}}}}
personalities: {ops: {toolset: [read_file], mcp_servers: [notes], fs_reach: {read: ["${workspace}"]}}}
`)
			p.write("server.py", formsServer)
			p.write("offers.json", formsOffered)
			p.run(0, "lock")
			p.says(0, "answered", "", "call", "resource:mcp__notes__resources", `{"uri":"notes:///day/3"}`)
			tt.change(p)
			for id, args := range tt.calls {
				stdout, stderr := p.callWith(id, args)
				m := toldFix.FindStringSubmatch(stderr)
				if m == nil || !strings.Contains(stderr, id+": "+tt.why+"; ") || !strings.Contains(m[1], "sallyport lock accept notes") {
					t.Errorf("a call of %s tells the operator\n%s\nwant %q and the command", id, stderr, tt.why)
					continue
				}
				if want := "Unknown tool: " + id + "\nCall ID: " + m[2] + "\n"; stdout != want {
					t.Errorf("the caller of %s reads\n%s\nwant\n%s", id, stdout, want)
				}
				p.says(0, "why: "+tt.why+"\n", "", "explain", "--call", m[2])
				p.says(1, "why: "+tt.why+"\n", "", "explain", id)
			}
		})
	}
}
