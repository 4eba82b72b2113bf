package command

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/needs"
)

// serverFolder creates a folder with the MCP server of gateway/upstream in it,
// and its configuration without servers.
func serverFolder(t *testing.T) (dir, text string) {
	t.Helper()
	needs.Programs(t, "python3")
	script, err := os.ReadFile("../../gateway/upstream/testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	text = `version: 1
principals: {reader: {token_sha256: "` + auth.HashToken(tokenOf("reader")) + `", personalities: [ops]}}
`
	dir = configured(t, text+"personalities: {ops: {toolset: []}}\n")
	place(t, dir, "server.py", string(script))
	return dir, text
}

// TestReloadAddsAServer puts a server in force, adds one that cannot start,
// then removes both.
func TestReloadAddsAServer(t *testing.T) {
	t.Parallel()
	dir, text := serverFolder(t)
	s, token := serveWatched(t, dir), tokenOf("reader")
	const tool, hello = "mcp__notes__echo", `{"text":"hello"}`
	s.wants(t, token, tool, hello, 404)

	one := text + "mcp_servers: {notes: {command: [python3, ./server.py]}}\npersonalities: {ops: {toolset: [], mcp_servers: [notes]}}\n"
	s.change(t, dir, one, "the MCP server notes answers now: ")
	if a := s.wants(t, token, tool, hello, 200); !strings.Contains(string(a.Data), "hello") {
		t.Errorf("echo = %s, want what it was told", a.Data)
	}

	two := text + `mcp_servers:
  notes: {command: [python3, ./server.py]}
  broken: {command: [python3, ./server.py, --no-start]}
personalities: {ops: {toolset: [], mcp_servers: [notes, broken]}}
`
	s.change(t, dir, two, "mcp_servers.broken: ")
	s.wants(t, token, tool, hello, 200)

	s.change(t, dir, strings.Replace(two, "python3, ./server.py]", "npx, -c, server]", 1), rejected)
	s.wants(t, token, tool, hello, 200)

	s.change(t, dir, text+"personalities: {ops: {toolset: []}}\n", inForce)
	s.wants(t, token, tool, hello, 404)
}

// TestRemoteServer mounts a server on this machine. Its role allows private
// addresses. The secret of the server reaches only that server and appears
// nowhere.
func TestRemoteServer(t *testing.T) {
	t.Parallel()
	far := mcp.NewServer(&mcp.Implementation{Name: "far"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(far, &mcp.Tool{Name: "echo", Description: "Knows far-away-token."}, func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text + " far-away-token"}}}, nil, nil
	})
	var wrong atomic.Int64
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return far }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer far-away-token" {
			wrong.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	dir := configured(t, `version: 1
secrets: [{dir: ./secrets}]
mcp_servers:
  far: {url: "`+server.URL+`/mcp", headers: {Authorization: {secret: token, prefix: "Bearer "}}}
personalities:
  asks: {toolset: [], mcp_servers: [far], safety: {network: {allow: ["`+host+`"], allow_private_urls: true}}}
  away: {toolset: [], mcp_servers: [far], safety: {network: {allow: ["`+host+`"]}}}
`)
	if err := os.Mkdir(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, filepath.Join(dir, "secrets"), "token", "far-away-token")
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"Knows [REDACTED:secret]", []string{"tools", "--personality", "asks"}},
		{"hello [REDACTED:secret]", []string{"call", "--personality", "asks", "mcp__far__echo", `{"text":"hello"}`}},
		{"HOST_NOT_ALLOWED", []string{"call", "--personality", "away", "mcp__far__echo", `{"text":"hello"}`}},
		{"ok", []string{"audit", "tail", "--json"}},
	} {
		out, err := sallyportCommand(dir, tt.args...).CombinedOutput()
		if !strings.Contains(string(out), tt.want) || strings.Contains(string(out), "far-away-token") {
			t.Errorf("%v = %v\n%s\nwant %q", tt.args, err, out, tt.want)
		}
	}
	if n := wrong.Load(); n != 0 {
		t.Errorf("%d requests came without the secret", n)
	}
}
