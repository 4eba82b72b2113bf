package command

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestListsShowOneNameForReading looks at every list of a role that may use both tools
// that read a file, and of one that may use the second alone. The actions of the HTTP
// API have both: permissions filter by the second.
func TestListsShowOneNameForReading(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	place(t, dir, app.ConfigName, `version: 2
personalities:
  both: {toolset: [read_file, file-read], read: ["${workspace}"]}
  one: {toolset: [file-read], read: ["${workspace}"]}
`)
	s := serveHTTP(t, dir, "--personality", "both")
	t.Cleanup(func() { s.stop(t) })
	_, actions := s.request(t, "GET", "/v1/actions", "", s.headers())
	if !strings.Contains(actions, `"id":"file-read"`) || !strings.Contains(actions, `"id":"read_file"`) {
		t.Errorf("GET /v1/actions = %s, want both", actions)
	}
	lists := map[string]string{"MCP": s.asks(t, "2026-07-28", "", "tools/list", "", "")}
	alone := map[string]string{}
	for _, args := range []string{"tools", "tools --json", "tools --format mcp", "tools --format openai"} {
		lists[args] = runSallyport(t, dir, append(strings.Fields(args), "--personality", "both")...)
		alone[args] = runSallyport(t, dir, append(strings.Fields(args), "--personality", "one")...)
	}
	for name, list := range lists {
		if !strings.Contains(list, "read_file") || strings.Contains(list, "file-read") {
			t.Errorf("%s lists %s, want read_file alone", name, list)
		}
	}
	for name, list := range alone {
		if !strings.Contains(list, "file-read") {
			t.Errorf("%s of the other role lists %s, want file-read", name, list)
		}
	}
	if out := runSallyport(t, dir, "tools", "file-read", "--personality", "both"); !strings.Contains(out, "file-read") {
		t.Errorf("tools file-read = %s", out)
	}
}
