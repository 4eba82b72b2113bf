package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// TestReloadKeepsServers checks that a process of a server keeps running, with
// its memory, over an unrelated change, and ends with a change that affects it.
func TestReloadKeepsServers(t *testing.T) {
	t.Parallel()
	dir, text := serverFolder(t)
	one := text + "mcp_servers: {notes: {command: [python3, ./server.py]}}\n"
	roles := "personalities: {ops: {toolset: [], mcp_servers: [notes]}}\n"
	place(t, dir, app.ConfigName, one+roles)
	s, token := serveWatched(t, dir), tokenOf("reader")
	count := func() string {
		data := string(s.wants(t, token, "mcp__notes__count", `{}`, 200).Data)
		_, data, _ = strings.Cut(data, `\n`)
		data, _, _ = strings.Cut(data, `\n`)
		return data
	}
	first := count()
	s.change(t, dir, strings.Replace(one, "{command", "{timeout: 1m, command", 1)+strings.Replace(roles, "{toolset", "{description: Other, toolset", 1), inForce)
	if got, want := count(), strings.Replace(first, "1 in", "2 in", 1); got != want || !strings.HasPrefix(first, "1 in") {
		t.Errorf("after a change that does not concern it the server counts %q, want %q", got, want)
	}
	s.change(t, dir, one+strings.Replace(roles, "{toolset", "{fs_reach: {read: [.]}, toolset", 1), inForce)
	if got := count(); !strings.HasPrefix(got, "1 in") {
		t.Errorf("with another grant the server counts %q, want a process of its own", got)
	}
	s.change(t, dir, strings.Replace(one, "server.py]", "server.py], env: {A: b}", 1)+roles, "the MCP server notes answers now: ")
	if got := count(); !strings.HasPrefix(got, "1 in") {
		t.Errorf("with another declaration the server counts %q, want another process", got)
	}
}

// TestServersAreAskedAgain uses a server that answers only after the start: its
// tools are registered once.
func TestServersAreAskedAgain(t *testing.T) {
	t.Parallel()
	dir, text := serverFolder(t)
	place(t, dir, app.ConfigName, text+`mcp_servers:
  notes: {command: [python3, ./server.py]}
  later: {command: [python3, ./server.py, --needs, `+filepath.Join(dir, "needed")+`], capabilities: {fs_reach: {read: ["`+dir+`"]}}}
personalities: {ops: {toolset: [], mcp_servers: [notes, later], fs_reach: {read: ["`+dir+`"]}}}
`)
	env, _ := inFolder(t, dir)
	rt, err := app.OpenForCalls(t.Context(), &env.Environment, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	rt.InForce().DiscoverServers(t.Context(), "ops", app.EveryServer)
	echo := func() sallyport.Result {
		return rt.InForce().Registry.Call(t.Context(), &sallyport.Caller{
			Principal: sallyport.Principal{Name: "reader"}, Personality: "ops", Platform: sallyport.PlatformGo, Workspace: rt.InForce().Config.Workspace,
		}, sallyport.Request{Tool: "mcp__later__echo", Args: []byte(`{"text":"hello"}`)})
	}
	if res := echo(); res.Code != sallyport.CodeNotAvailable {
		t.Errorf("a server that did not answer = %+v", res)
	}
	if news := rt.InForce().AskSilentServers(context.Background(), "ops"); len(news) != 0 {
		t.Errorf("a server that does not answer = %q", news)
	}
	place(t, dir, "needed", "x")
	if news := rt.InForce().AskSilentServers(context.Background(), "ops"); len(news) != 0 {
		t.Errorf("a server that was asked just now = %q, want it left alone for a while", news)
	}
	for _, f := range rt.InForce().Servers.Found {
		f.Pause = 0
	}
	if news := rt.InForce().AskSilentServers(context.Background(), "ops"); len(news) != 1 || !strings.Contains(news[0], "the MCP server later answers now: ") {
		t.Errorf("a server that answers now = %q", news)
	}
	if res := echo(); !res.OK {
		t.Errorf("its tool = %+v", res)
	}
	if news := rt.InForce().AskSilentServers(context.Background(), "ops"); len(news) != 0 {
		t.Errorf("servers that all answer = %q", news)
	}
}

// TestServeHidesADeadServer checks that the tools of a server that no longer
// starts leave the list, with the reason, and return with the server.
func TestServeHidesADeadServer(t *testing.T) {
	t.Parallel()
	dir, text := serverFolder(t)
	place(t, dir, "needed", "x")
	place(t, dir, app.ConfigName, text+`mcp_servers:
  notes: {command: [python3, ./server.py]}
  mortal: {command: [python3, ./server.py, --needs, `+filepath.Join(dir, "needed")+`], capabilities: {fs_reach: {read: ["`+dir+`"]}}}
personalities: {ops: {toolset: [], mcp_servers: [notes, mortal], fs_reach: {read: ["`+dir+`"]}}}
`)
	s, token := serveWatched(t, dir), tokenOf("reader")
	const tool, hello = "mcp__mortal__echo", `{"text":"hello"}`
	s.wants(t, token, tool, hello, 200)
	list := func() string {
		_, list := s.request(t, "GET", "/v1/actions", "", map[string]string{"Authorization": "Bearer " + token})
		return list
	}
	if !strings.Contains(list(), tool) {
		t.Fatal("the list lacks the tool")
	}
	from := s.told.len()
	if err := os.Remove(filepath.Join(dir, "needed")); err != nil {
		t.Fatal(err)
	}
	s.actionWith(t, token, "mcp__mortal__die", `{}`)
	const why = "the MCP server mortal did not start: it ended before it answered"
	s.told.await(t, from, "the tools of the MCP server mortal are not available: "+why)
	if strings.Contains(list(), tool) {
		t.Errorf("the list has %s, whose server is dead", tool)
	}
	if a := s.actionWith(t, token, tool, hello); a.Code != "not_available" || !strings.Contains(a.Error, why) {
		t.Errorf("a call of a dead server = %+v", a)
	}
	s.wants(t, token, "mcp__notes__echo", hello, 200)
	from = s.told.len()
	place(t, dir, "needed", "x")
	s.told.await(t, from, "the tools of the MCP server mortal are available again")
	s.wants(t, token, tool, hello, 200)
	s.stop(t)
}

// TestCommandsNameASlowServer asks a server that lists no tools. Each command says so,
// and what to run again. The client keeps the server.
func TestCommandsNameASlowServer(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "sleep")
	dir := t.TempDir()
	const settings = `{"mcpServers": {"slow": {"command": "sleep", "args": ["1000"]}}}`
	place(t, dir, ".mcp.json", settings)
	for _, args := range []string{"import claude-code --yes", "check", "lock"} {
		if args == "check" {
			place(t, dir, app.ConfigName, "version: 1\nmcp_servers: {slow: {command: [sleep, \"1000\"]}}\npersonalities: {ops: {toolset: [], mcp_servers: [slow]}}\n")
		}
		env, out := inFolder(t, dir)
		var told strings.Builder
		env.Stderr, env.StartWait = &told, 100*time.Millisecond
		runCommand(t.Context(), strings.Fields(args), env)
		want := "the MCP server slow did not list its tools within 0.1 s; run sallyport " + args + " again, or start the server by hand to see what it waits for"
		if said := told.String() + out.String(); !strings.Contains(said, want) {
			t.Errorf("%s says\n%s\nwant %q", args, said, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, ".mcp.json")); err != nil || string(text) != settings {
		t.Errorf("the client's file is %q, %v", text, err)
	}
}
