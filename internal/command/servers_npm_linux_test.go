package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// The servers with which these tests were written.
var npmServers = []string{
	"@modelcontextprotocol/server-everything@2026.8.31",
	"@modelcontextprotocol/server-filesystem@2026.8.31",
	"@modelcontextprotocol/server-memory@2026.8.31",
	"@playwright/mcp@0.0.83",
}

// The arguments of the file server allow it to read everything.
const npmConfig = `version: 1
mcp_servers:
  everything:
    command: [node, STORE/node_modules/@modelcontextprotocol/server-everything/dist/index.js]
    capabilities: {fs_reach: {read: [STORE]}}
  files:
    command: [node, STORE/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js, /]
    capabilities: {fs_reach: {read: [STORE, "${workspace}"]}}
  memory:
    command: [node, STORE/node_modules/@modelcontextprotocol/server-memory/dist/index.js]
    env: {MEMORY_FILE_PATH: "${workspace}/graph/memory.json"}
    capabilities: {fs_reach: {read: [STORE, "${workspace}/graph/memory.json"], write: ["${workspace}/graph/memory.json"]}}
  browser:
    command: [node, ./browser.mjs, STORE, --output-dir, "${workspace}/pages"]
    capabilities:
      fs_reach: {read: [STORE, "${workspace}/pages"], write: ["${workspace}/pages"]}
      network: {allowedHosts: ["HOST"]}
personalities:
  ops:
    toolset: []
    mcp_servers: [everything, files, memory, browser]
    fs_reach: {read: [STORE, "${workspace}"], write: ["${workspace}/graph", "${workspace}/pages"]}
    safety: {network: {allow: ["HOST"], allow_private_urls: true}, flow: {after_untrusted_private: allow}}
  careful:
    toolset: []
    mcp_servers: [files, browser]
    fs_reach: {read: [STORE, "${workspace}"], write: ["${workspace}/pages"]}
    safety: {network: {allow: ["HOST"], allow_private_urls: true}, flow: {after_untrusted_private: refuse}}
`

// npmFolder installs the servers. It returns the folder of a configuration and
// a folder that no server may read.
func npmFolder(t *testing.T, host string) (work, outside string) {
	t.Helper()
	needNPX(t)
	needs.Programs(t, "node", "chromium-headless-shell")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store, work, outside := filepath.Join(dir, "store"), filepath.Join(dir, "work"), filepath.Join(dir, "outside")
	for _, d := range []string{store, work, outside, filepath.Join(work, "graph"), filepath.Join(work, "pages")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		place(t, d, "note", "the note of "+filepath.Base(d))
	}
	install := exec.CommandContext(t.Context(), "npm", append([]string{"install", "--ignore-scripts", "--no-audit", "--no-fund"}, npmServers...)...)
	install.Dir = store
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	script, err := os.ReadFile("testdata/browser.mjs")
	if err != nil {
		t.Fatal(err)
	}
	place(t, work, "browser.mjs", string(script))
	place(t, work, app.ConfigName, strings.NewReplacer("STORE", store, "HOST", host).Replace(npmConfig))
	return work, outside
}

// TestServersOfNPM mounts published servers, all at once, and lets a client
// list and call them.
func TestServersOfNPM(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>A page</title><h1>Hello from %s</h1>", r.Host)
	}))
	t.Cleanup(page.Close)
	host := strings.TrimPrefix(page.URL, "http://")
	work, outside := npmFolder(t, host)
	s := serveHTTP(t, work, "--personality", "ops")
	c := connects(t, s, "2025-11-25", nil)
	c.lists(t, "mcp__everything__get-sum", "mcp__files__read_text_file", "mcp__memory__create_entities", "mcp__browser__browser_navigate")
	for _, tt := range []npmCall{
		{"mcp__everything__echo", fields{"message": "hello"}, "Echo: hello", true},
		{"mcp__everything__get-sum", fields{"a": 2, "b": 3}, "5", true},
		{"mcp__files__read_text_file", fields{"path": work + "/note"}, "the note of work", true},
		{"mcp__files__read_text_file", fields{"path": outside + "/note"}, "no such file", false},
		{"mcp__files__read_text_file", fields{"path": "/etc/shadow"}, "no such file", false},
		{"mcp__files__write_file", fields{"path": work + "/new", "content": "x"}, "", false},
		{"mcp__memory__create_entities", fields{"entities": []fields{{"name": "ann", "entityType": "person", "observations": []string{"likes gates"}}}}, "ann", true},
		{"mcp__memory__search_nodes", fields{"query": "ann"}, "likes gates", true},
		{"mcp__browser__browser_navigate", fields{"url": page.URL}, "Page Title: A page", true},
		{"mcp__browser__browser_evaluate", fields{"function": "() => document.body.innerText"}, "Hello from " + host, true},
		{"mcp__browser__browser_navigate", fields{"url": "http://169.254.169.254/latest/"}, "HTTP status: 403", true},
		{"mcp__browser__browser_navigate", fields{"url": "https://example.com/"}, "ERR_TUNNEL_CONNECTION_FAILED", false},
		{"mcp__browser__browser_navigate", fields{"url": "file:///etc/passwd"}, "", false},
	} {
		t.Run(tt.tool+" "+tt.want, func(t *testing.T) { c.calls(t, tt) })
	}
	if _, err := os.Stat(filepath.Join(work, "new")); err == nil {
		t.Error("a server wrote where its declaration reads alone")
	}
	if text, err := os.ReadFile(filepath.Join(work, "graph", "memory.json")); !strings.Contains(string(text), "likes gates") {
		t.Errorf("the memory is %q, %v, want what it was told", text, err)
	}
	t.Run("progress and cancel", func(t *testing.T) { c.slow(t) })
	s.stop(t)
	runSallyport(t, work, "audit", "verify")
	careful := func(tool, args string) verdict {
		return verdictOfResult(t, printed(t, sallyportCommand(work, "call", "--json", "--personality", "careful", "--session", "s", tool, args)))
	}
	if v := careful("mcp__files__read_text_file", `{"path":"`+work+`/note"}`); !v.OK {
		t.Errorf("a note for a careful role = %+v, want it", v)
	}
	if v := careful("mcp__browser__browser_navigate", `{"url":"`+page.URL+`/?the+note"}`); v.OK || v.Code != "permission_denied" {
		t.Errorf("a page after a note for a careful role = %+v, want a refusal", v)
	}
}

// npmCall is a call and its answer.
type npmCall struct {
	tool string
	args fields
	want string
	ok   bool
}

// sdkClient is the official client, connected.
type sdkClient struct {
	*mcp.ClientSession
	progress chan *mcp.ProgressNotificationParams
}

// connects connects to a server at a version of the protocol.
func connects(t *testing.T, s *service, version string, transport mcp.Transport) *sdkClient {
	t.Helper()
	c := &sdkClient{progress: make(chan *mcp.ProgressNotificationParams, 100)}
	if transport == nil {
		transport = &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: presenting{s.token}}}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.progress <- r.Params },
	})
	var err error
	if c.ClientSession, err = client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// lists requires tools in the list.
func (c *sdkClient) lists(t *testing.T, want ...string) {
	t.Helper()
	var names []string
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	for _, name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("the list is %q, want %s in it", names, name)
		}
	}
}

// calls makes a call and compares its text.
func (c *sdkClient) calls(t *testing.T, tt npmCall) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: tt.args})
	if err != nil {
		t.Fatal(err)
	}
	if text := textOf(res); res.IsError == tt.ok || !strings.Contains(text, tt.want) || strings.Contains(text, "the note of outside") {
		t.Errorf("%s %v = %v:\n%s\nwant %v, %q", tt.tool, tt.args, !res.IsError, text, tt.ok, tt.want)
	}
}

func textOf(res *mcp.CallToolResult) string {
	var all strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			all.WriteString(text.Text)
		}
	}
	return all.String()
}

// slow makes a call that reports progress to its end, and cancels another one
// at its first progress event. The server must answer the next call.
func (c *sdkClient) slow(t *testing.T) {
	t.Helper()
	const tool = "mcp__everything__trigger-long-running-operation"
	call := func(ctx context.Context, token string, seconds float64, steps int) (*mcp.CallToolResult, error) {
		params := &mcp.CallToolParams{Name: tool, Arguments: fields{"duration": seconds, "steps": steps}}
		params.SetProgressToken(token)
		return c.CallTool(ctx, params)
	}
	if res, err := call(t.Context(), "whole", 0.4, 4); err != nil || res.IsError {
		t.Fatalf("the slow call = %v, %v", res, err)
	}
	for i := range 4 {
		if p := <-c.progress; p.ProgressToken != "whole" || p.Progress != float64(i+1) && p.Progress != float64(25*(i+1)) {
			t.Errorf("progress = %+v, want step %d of 4", p, i+1)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-c.progress
		cancel()
	}()
	if _, err := call(ctx, "given up", 60, 600); !errors.Is(err, context.Canceled) {
		t.Errorf("the call that was given up = %v, want it cancelled", err)
	}
	c.calls(t, npmCall{"mcp__everything__echo", fields{"message": "still here"}, "Echo: still here", true})
}

// fields are the members of a JSON object.
type fields map[string]any
