package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestWordsOfAServerCountOnlyPinned uses a server that no operator has
// reviewed. It could claim that its tools only read, and would then receive
// whatever its own text requested.
func TestWordsOfAServerCountOnlyPinned(t *testing.T) {
	t.Parallel()
	p := newPinnedFolder(t, "get", "Gets.")
	p.write(app.ConfigName, `version: 1
mcp_servers:
  notes:
    command: [python3, ./server.py, ./tools.json]
    capabilities: {fs_reach: {read: from-personality}, network: {allowedHosts: [notes.example]}}
personalities:
  ops: {mcp_servers: [notes], fs_reach: {read: ["${workspace}"]}}
`)
	p.write("tools.json", strings.Replace(definitions(t, "get", "Gets."), `{`, `{"annotations":{"readOnlyHint":true},`, 1))
	lockFile := filepath.Join(p.dir, app.LockName)
	if err := os.Remove(lockFile); err != nil {
		t.Fatal(err)
	}
	const outward = "fact  outward: "
	p.says(0, outward, "", "explain", "mcp__notes__get")
	p.run(0, "lock")
	p.says(0, "fact  untrusted: ", outward, "explain", "mcp__notes__get")
}
