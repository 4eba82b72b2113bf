package command

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
)

// TestC6_OverHTTPOnlyAPersonsClientIsAsked connects clients that approve every
// question. The client of a principal that is not declared to be a person, and
// the client with the local user's token, get no question, and the call stays
// held.
func TestC6_OverHTTPOnlyAPersonsClientIsAsked(t *testing.T) {
	t.Parallel()
	dir := heldFolder(t, "0s")
	agent, agentHash := auth.NewToken()
	person, personHash := auth.NewToken()
	path := filepath.Join(dir, app.ConfigName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, `principals:
  local: {permissions: ["file:read"]}
  agent: {token_sha256: "`+agentHash+`"}
  ann: {token_sha256: "`+personHash+`", person: true}
`...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHTTP(t, dir)
	open := heldFolder(t, "0s")
	if text, err = os.ReadFile(filepath.Join(open, app.ConfigName)); err != nil {
		t.Fatal(err)
	}
	place(t, open, app.ConfigName, string(text)+"security: {require_auth: false}\nprincipals: {local: {permissions: [\"file:read\"]}}\n")
	anyone := serveHTTP(t, open)
	for _, tt := range []struct {
		name, token string
		runs        bool
	}{{"agent", agent, false}, {"local", s.token, false}, {"ann", person, true}, {"without-a-token", "", false}} {
		at, way := s, http.RoundTripper(presenting{tt.token})
		if tt.token == "" {
			at, way = anyone, http.DefaultTransport
		}
		for _, version := range []string{"2026-07-28", "2025-11-25"} {
			var asked atomic.Int32
			c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked.Add(1)
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
				},
			})
			session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: at.url + "/mcp", HTTPClient: &http.Client{Transport: way},
			}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "write_file", Arguments: map[string]any{"path": tt.name + version, "content": "a"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if res.IsError == tt.runs || (asked.Load() > 0) != tt.runs || !tt.runs && res.Meta["sallyport/code"] != "approval_required" {
				t.Errorf("%s over %s: asked %d times, answered %v %v", tt.name, version, asked.Load(), res.IsError, res.Meta)
			}
			_ = session.Close()
		}
	}
	s.stop(t)
	anyone.stop(t)
}
