package command

//lint:file-ignore SA1019 a client is asked for its model

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// TestAServerOfNPMAsks lets a server ask a person and a model through the gate.
// The answers must reach it, with clients of both generations of the protocol.
func TestAServerOfNPMAsks(t *testing.T) {
	t.Parallel()
	needNPX(t)
	needs.Programs(t, "node")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store, work := filepath.Join(dir, "store"), filepath.Join(dir, "work")
	for _, d := range []string{store, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", npmServers[0])
	install.Dir = store
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	place(t, work, app.ConfigName, strings.ReplaceAll(`version: 1
mcp_servers:
  everything:
    command: [node, STORE/node_modules/@modelcontextprotocol/server-everything/dist/index.js]
    capabilities: {fs_reach: {read: [STORE]}, input: [person, model]}
personalities:
  ops: {toolset: [], mcp_servers: [everything], fs_reach: {read: [STORE]}}
`, "STORE", store))
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			s := connectStdio(t, work, version, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if !strings.HasPrefix(r.Params.Message, "mcp__everything__trigger-elicitation-request asks:") {
						t.Errorf("the person reads %q, want who asks first", r.Params.Message)
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
				},
				CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
					said := r.Params.Messages[0].Content.(*mcp.TextContent).Text
					return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "heard " + said}}, nil
				},
			})
			for tool, want := range map[string]string{"trigger-elicitation-request": "Name: Ann", "trigger-sampling-request": "context: a poem"} {
				args := fields{}
				if tool == "trigger-sampling-request" {
					args["prompt"] = "a poem"
				}
				res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "mcp__everything__" + tool, Arguments: args})
				if err != nil {
					t.Fatal(err)
				}
				if text := textOf(res); res.IsError || !strings.Contains(text, want) {
					t.Errorf("%s = %s\nwant %q", tool, text, want)
				}
			}
		})
	}
}
