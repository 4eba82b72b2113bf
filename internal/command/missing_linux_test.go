package command

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// toldFix finds in standard error what lifts a refusal, and the id of the call.
var toldFix = regexp.MustCompile(`sallyport: refused: .*; to allow it: (.*); more: sallyport explain --call ([0-9a-z]+) `)

// TestABlockedToolNamesTheCommandThatLetsItIn calls tools that the lock file holds back.
// The caller learns nothing; standard error, explain and the record name the server, why,
// and the command after which the call works.
func TestABlockedToolNamesTheCommandThatLetsItIn(t *testing.T) {
	t.Parallel()
	const held = "what the MCP server notes offers by this name is held back: "
	for _, tt := range []struct {
		name, tool, why, command string
		change                   func(p *pinnedFolder)
	}{
		{
			"another launch", "mcp__notes__echo", "the MCP server notes is not started: another script is run, or its content changed", "lock accept notes",
			func(p *pinnedFolder) { p.write("server.py", "# changed\n"+pinnedServer) },
		},
		{
			"another definition", "mcp__notes__echo", held + "the definition is not the pinned one", "lock accept notes/echo",
			func(p *pinnedFolder) { p.write("tools.json", definitions(p.t, "echo", "Says it loudly.")) },
		},
		{
			"another tool", "mcp__notes__add_one", held + "the tool is not pinned", "lock accept 'notes/add one'",
			func(p *pinnedFolder) {
				p.write("tools.json", definitions(p.t, "echo", "Says it.", "add one", "Adds."))
			},
		},
		{
			"a server that was never pinned", "mcp__extra__echo", "the MCP server extra is not started: the server extra is not pinned", "lock",
			func(p *pinnedFolder) { p.configure(extraServer, ", extra") },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPinnedFolder(t, "echo", "Says it.")
			tt.change(p)
			stdout, stderr := p.call(tt.tool)
			m := toldFix.FindStringSubmatch(stderr)
			if m == nil {
				t.Fatalf("standard error says\n%s\nwant the command", stderr)
			}
			fix, id := m[1], m[2]
			if want := "Unknown tool: " + tt.tool + "\nCall ID: " + id + "\n"; stdout != want {
				t.Errorf("the caller reads\n%s\nwant\n%s", stdout, want)
			}
			config := " --config " + filepath.Join(p.dir, app.ConfigName)
			if want := "sallyport " + tt.command + config; fix != want || !strings.Contains(stderr, tt.tool+": "+tt.why+"; ") {
				t.Errorf("standard error says\n%s\nwant %q and %q", stderr, tt.why, want)
			}
			said := "why: " + tt.why + "\n      fix: sallyport " + tt.command
			p.says(0, said+"\n", "", "explain", "--call", id)
			p.says(1, said+"\n", "", "explain", tt.tool)
			elsewhere := &pinnedFolder{t, t.TempDir()}
			elsewhere.says(0, said+config+"\n", "", "explain", "--call", id, "--config", filepath.Join(p.dir, app.ConfigName))
			elsewhere.runsAtTerminal(fix)
			stdout, stderr = p.call(tt.tool)
			if !strings.Contains(stdout, "answered ") || stderr != "" {
				t.Errorf("after %s the call says\n%s%s\nwant that it works", fix, stdout, stderr)
			}
		})
	}
}

// TestServeNamesTheCommandForABlockedTool has a running server refuse tools of which
// nothing is pinned, and of which something else is pinned than what is offered now.
func TestServeNamesTheCommandForABlockedTool(t *testing.T) {
	t.Parallel()
	p := newPinnedFolder(t, "echo", "Says it.")
	p.configure(extraServer, ", extra")
	s := serveWatched(t, p.dir)
	config := " --config " + filepath.Join(p.dir, app.ConfigName)
	from := s.told.len()
	if a := s.wants(t, tokenOf("reader"), "mcp__extra__echo", "{}", 404); !strings.HasPrefix(a.Error, "Unknown tool: mcp__extra__echo") || strings.Contains(a.Error, "pinned") {
		t.Errorf("the caller reads %q", a.Error)
	}
	s.told.await(t, from, "refused: mcp__extra__echo: the MCP server extra is not started: the server extra is not pinned; to allow it: sallyport lock"+config+"; more: ")

	from = s.told.len()
	p.runsAtTerminal("sallyport lock" + config)
	s.told.await(t, from, "the MCP server extra answers now: ")
	s.wants(t, tokenOf("reader"), "mcp__extra__echo", "{}", 200)

	// What the first call finds is known to the second one before it runs.
	p.write("tools.json", definitions(t, "echo", "Says it loudly."))
	for range 2 {
		from = s.told.len()
		s.wants(t, tokenOf("reader"), "mcp__notes__echo", "{}", 404)
		s.told.await(t, from, "refused: mcp__notes__echo: what the MCP server notes offers by this name is held back: "+
			"its definition is not the one that was accepted; to allow it: sallyport lock accept notes"+config+"; more: ")
	}
	from = s.told.len()
	p.runsAtTerminal("sallyport lock accept notes" + config)
	s.told.await(t, from, "what the MCP servers offer has changed, and is mounted")
	s.wants(t, tokenOf("reader"), "mcp__notes__echo", "{}", 200)
}

// extraServer declares a server beside the pinned one.
const extraServer = "  extra: {command: [python3, ./server.py, ./tools.json, more], capabilities: {fs_reach: {read: from-personality}}}"

// call calls a tool and returns what the caller reads and what the operator reads.
func (p *pinnedFolder) call(tool string) (stdout, stderr string) { return p.callWith(tool, "{}") }

func (p *pinnedFolder) callWith(tool, args string) (stdout, stderr string) {
	var out, told bytes.Buffer
	cmd := sallyportCommand(p.dir, "call", tool, args)
	cmd.Stdout, cmd.Stderr = &out, &told
	_ = cmd.Run() // a refusal has a code of its own
	return out.String(), told.String()
}

// runsAtTerminal runs a command line at a terminal, whose user says yes.
func (p *pinnedFolder) runsAtTerminal(line string) {
	p.t.Helper()
	line, _ = strings.CutPrefix(line, "sallyport ")
	words := strings.Fields(line)
	if before, quoted, ok := strings.Cut(line, "'"); ok {
		quoted, after, _ := strings.Cut(quoted, "'")
		words = append(append(strings.Fields(before), quoted), strings.Fields(after)...)
	}
	env, out := inFolder(p.t, p.dir)
	var asked strings.Builder
	env.Stderr, env.stdin, env.terminal = &asked, io.NopCloser(strings.NewReader("y\n")), true
	if code := runCommand(p.t.Context(), words, env); code != exitDone {
		p.t.Fatalf("%q = %d\n%s%s", words, code, out.String(), asked.String())
	}
}
