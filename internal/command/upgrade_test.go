package command

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnOldStateIsTakenOver serves a state as the program of commit d9d92e9 left it, with
// the configuration of that time: the chain holds up to the head that was kept then, the
// token counts, and what was stopped or revoked stays so.
func TestAnOldStateIsTakenOver(t *testing.T) {
	t.Parallel()
	const (
		head  = "13:444b55c2140e44e5f8c8ad688f2636955ad7b652fe85ac07928392e2aa5443d7"
		token = "sallyport_B9rAnNT_3WgpGDigZ6kAECec2DTMrW3ZX_GLIP5hQGc"
	)
	dir := folder(t)
	place(t, dir, "sallyport.yaml", `version: 1
workspace: .
state: sqlite:.sallyport/state.db
personalities:
  default:
    toolset: ["@file"]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}"]}
    approvals: {require: [write_file]}
`)
	place(t, dir, "notes.txt", "hello")
	placeOldState(t, filepath.Join(dir, ".sallyport"))
	// Commands that only look see it before a server changes anything.
	if said := runSallyport(t, dir, "audit", "verify", "--head", head); !strings.Contains(said, "13 records, chain good") || !strings.Contains(said, "tail proven") {
		t.Errorf("audit verify before a server says %q", said)
	}
	s := serveHTTP(t, dir)
	status, said := s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"notes.txt"}}`, s.headers("Authorization", "Bearer "+token))
	if status != 200 || !strings.Contains(said, "hello") {
		t.Errorf("a call with the token of the old state = %d %s", status, said)
	}
	people := runSallyport(t, dir, "principals", "ls")
	for name, status := range map[string]string{"ci": "active", "eve": "stopped", "gone": "revoked"} {
		found := false
		for line := range strings.Lines(people) {
			found = found || strings.HasPrefix(line, name+" ") && strings.Contains(line, status)
		}
		if !found {
			t.Errorf("%s is not %s:\n%s", name, status, people)
		}
	}
	tail := runSallyport(t, dir, "audit", "tail", "-n", "100")
	for _, record := range []string{"principal.add ci", "switch.stop principal eve", "approval.approve", "PATH_NOT_REACHABLE"} {
		if !strings.Contains(tail, record) {
			t.Errorf("the record has no %s:\n%s", record, tail)
		}
	}
	s.stop(t)
	if said := runSallyport(t, dir, "audit", "verify", "--head", head); !strings.Contains(said, "chain good") || !strings.Contains(said, "tail proven") || strings.HasPrefix(said, "13 ") {
		t.Errorf("audit verify after the server says %q", said)
	}
}

// placeOldState puts the state of the old program into a folder.
func placeOldState(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile("testdata/upgrade/audit.key")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.Open("testdata/upgrade/state.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	state, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(state)
	if err != nil {
		t.Fatal(err)
	}
	place(t, dir, "audit.key", string(key))
	place(t, dir, "state.db", string(text))
	for _, name := range []string{"audit.key", "state.db"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
