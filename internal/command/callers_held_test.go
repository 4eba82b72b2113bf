package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
)

// A held call does not run when its principal was revoked or got another token
// after the call, even when an operator approves it later.
func TestRevocationReachesAHeldCall(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"revoke", "rotate"} {
		t.Run(change, func(t *testing.T) { testHeldCallAfter(t, change) })
	}
}

// testHeldCallAfter changes a principal while a call of it is held.
func testHeldCallAfter(t *testing.T, change string) {
	dir := folder(t)
	text := `version: 1
state: sqlite:.sallyport/state.db
personalities:
  default:
    fs_reach: {read: ["${workspace}"], write: ["${workspace}"]}
    approvals: {require: [write_file], wait: 60s}
`
	if err := os.WriteFile(filepath.Join(dir, app.ConfigName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHTTP(t, dir)
	s.token = strings.TrimSpace(runSallyport(t, dir, "principals", "add", "leaver"))
	type answer struct {
		status int
		body   string
	}
	answered := make(chan answer, 1)
	go func() {
		status, body := s.request(t, "POST", "/v1/actions/write_file/execute",
			`{"params":{"path":"out.txt","content":"x"}}`, s.headers("Accept", ""))
		answered <- answer{status, body}
	}()
	id := awaitHeld(t, dir)
	runSallyport(t, dir, "principals", change, "leaver")
	runSallyport(t, dir, "approvals", "approve", id)
	if a := <-answered; a.status != 403 || !strings.Contains(a.body, "any more") {
		t.Errorf("the held call after %s: %d %s, want 403", change, a.status, a.body)
	}
	if _, err := os.Lstat(filepath.Join(dir, "out.txt")); !os.IsNotExist(err) {
		t.Errorf("Lstat() = %v, want no file", err)
	}
	s.stop(t)
}

// awaitHeld returns the id of the first held call.
func awaitHeld(t *testing.T, dir string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		var held []sallyport.Approval
		if err := json.Unmarshal([]byte(runSallyport(t, dir, "approvals", "ls", "--json")), &held); err != nil {
			t.Fatal(err)
		}
		if len(held) > 0 {
			return held[0].ID
		}
	}
	t.Fatal("no call is held")
	return ""
}
