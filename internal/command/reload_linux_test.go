package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
)

// TestB2_AReloadIsOneStepWhileAServerIsSilent puts a configuration in force
// that removes a folder, adds a principal and adds a server that never answers.
// The principal has the new role from its first request on and the folder is
// out of reach, both before anything is known about the server.
func TestB2_AReloadIsOneStepWhileAServerIsSilent(t *testing.T) {
	t.Parallel()
	dir, text := serverFolder(t)
	for _, name := range []string{"open", "closed"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		place(t, filepath.Join(dir, name), "note", "the note of "+name)
	}
	both := `security: {default_permissions: ["file:read"]}
mcp_servers: {notes: {command: [python3, ./server.py]}SILENT}
personalities: {ops: {toolset: [read_file], mcp_servers: [notesLISTED], fs_reach: {read: [REACH]}}}
`
	before := text + strings.NewReplacer("SILENT", "", "LISTED", "", "REACH", "open, closed").Replace(both)
	after := strings.Replace(text, "principals: {", `principals: {late: {token_sha256: "`+auth.HashToken(tokenOf("late"))+`", personalities: [ops]}, `, 1) +
		strings.NewReplacer("SILENT", `, silent: {command: [sleep, "1000"]}`, "LISTED", ", silent", "REACH", "open").Replace(both)
	place(t, dir, app.ConfigName, before)
	s := serveWatched(t, dir)
	reader, late := tokenOf("reader"), tokenOf("late")
	read := func(name string) string { return `{"path":"` + name + `/note"}` }
	s.wants(t, reader, "read_file", read("closed"), 200)
	s.wants(t, reader, "mcp__notes__echo", `{"text":"hello"}`, 200)

	from := s.told.len()
	place(t, dir, app.ConfigName, after)
	a := s.actionWith(t, late, "read_file", read("closed"))
	for a.Status == 401 {
		a = s.actionWith(t, late, "read_file", read("closed"))
	}
	if !strings.Contains(a.Error, "PATH_NOT_REACHABLE") {
		t.Errorf("the first request of a new principal = %d %s, want the refusal of its role", a.Status, a.Error)
	}
	if a := s.actionWith(t, reader, "read_file", read("closed")); !strings.Contains(a.Error, "PATH_NOT_REACHABLE") {
		t.Errorf("a folder that was withdrawn = %d %s, want a refusal", a.Status, a.Error)
	}
	s.wants(t, late, "read_file", read("open"), 200)
	// What the change does not affect goes on. A tool that is not known yet is
	// not available, and the answer says so.
	s.wants(t, reader, "mcp__notes__echo", `{"text":"hello"}`, 200)
	if a := s.actionWith(t, reader, "mcp__silent__anything", `{}`); a.Error != "Tool mcp__silent__anything is not currently available" {
		t.Errorf("a tool of a server that is silent = %d %s", a.Status, a.Error)
	}
	// A silent server does not delay further changes either.
	if said := s.told.await(t, from, inForce); strings.Contains(said, "mcp_servers.silent: ") {
		t.Errorf("the server waited for the silent one before the change:\n%s", said)
	}
	if said := s.change(t, dir, before, inForce); strings.Contains(said, "mcp_servers.silent: ") {
		t.Errorf("the server waited for the silent one before the next change:\n%s", said)
	}
	s.wants(t, late, "read_file", read("open"), 401)
	s.stop(t)
}
