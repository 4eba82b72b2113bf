package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/app"
)

// connectStdio starts `serve --stdio` in a folder and connects a client with
// one version of the protocol.
func connectStdio(t *testing.T, dir, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	s, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: sallyportCommand(dir, "serve", "--stdio")},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestTheClientsPersonDecides checks the question, the run and the record of
// the decision, in both generations of the protocol.
func TestTheClientsPersonDecides(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			dir := heldFolder(t, "0s")
			approve := true
			s := connectStdio(t, dir, version, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if !strings.Contains(r.Params.Message, `"path":"`) || !strings.Contains(r.Params.Message, "Principal: local") {
						t.Errorf("asked %q, want what the call does and who asks", r.Params.Message)
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": approve, "reason": "as agreed"}}, nil
				},
			})
			write := func(path string) *mcp.CallToolResult {
				res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": path, "content": "a"}})
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			if res := write("a.txt"); res.IsError {
				t.Errorf("an approved call = %+v, want that it ran", res.Content[0])
			}
			approve = false
			if res := write("b.txt"); res.Meta["sallyport/code"] != "approval_denied" {
				t.Errorf("a denied call = %v, want approval_denied", res.Meta)
			}
			for name, want := range map[string]bool{"a.txt": true, "b.txt": false} {
				if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
					t.Errorf("%s: %v, want it there: %v", name, err, want)
				}
			}
			record := runSallyport(t, dir, "audit", "tail")
			for _, want := range []string{"approve 06", "deny 06", " by client:local", "as agreed"} {
				if !strings.Contains(record, want) {
					t.Errorf("the record lacks %q:\n%s", want, record)
				}
			}
			if shown := runSallyport(t, dir, "approvals", "ls", "--all"); strings.Count(shown, "decided by client:local: as agreed") != 2 {
				t.Errorf("approvals ls --all =\n%s\nwant two decisions of the client's person", shown)
			}
		})
	}
}

// TestClientsHearOfAReload checks that clients learn of changed lists when a
// configuration comes into force.
func TestClientsHearOfAReload(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			dir := heldFolder(t, "0s")
			heard := make(chan struct{}, 10)
			s := connectStdio(t, dir, version, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { heard <- struct{}{} },
			})
			has := func(name string) bool {
				list, err := s.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, tool := range list.Tools {
					if tool.Name == name {
						return true
					}
				}
				return false
			}
			if !has("write_file") {
				t.Fatal("write_file is not listed")
			}
			path := filepath.Join(dir, app.ConfigName)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), `toolset: ["@file"]`, `toolset: [read_file]`, 1)
			if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			<-heard
			if has("write_file") {
				t.Error("write_file is still listed after the change")
			}
		})
	}
}
