package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
)

// decodeJSON decodes the answer of a command.
func decodeJSON[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return v
}

// TestNoClientGivesARule has clients of an agent, of the local user and of a
// person ask for more than one run.
func TestNoClientGivesARule(t *testing.T) {
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
  agent: {token_sha256: "`+agentHash+`", permissions: ["file:write"]}
  ann: {token_sha256: "`+personHash+`", person: true}
`...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHTTP(t, dir)
	defer s.stop(t)
	asked := 0
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if asked++; strings.Contains(fmt.Sprint(r.Params.RequestedSchema), "session") {
				t.Errorf("the form offers a rule: %v", r.Params.RequestedSchema)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{
				"approve": true, "session": true, "rule": true, "always": true, "scope": "session", "args": []string{"path"},
			}}, nil
		},
	})
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: presenting{person}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "write_file", Arguments: map[string]any{"path": "a.txt", "content": "a", "session": true},
		}); err != nil {
			t.Fatal(err)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "write_file", Arguments: map[string]any{"path": "a.txt", "content": "a"},
			Meta: mcp.Meta{"sallyport/approve": "session", "sallyport/rule": true, "sallyport/always": true},
		})
		if err != nil || asked != n+1 {
			t.Errorf("call %d: %v, %v, asked %d times, want a question for each call", n, res, err, asked)
		}
	}
	_ = session.Close()

	held := execAs(t, s, agent, `{"params":{"path":"b.txt","content":"b"},"session":"s"}`)
	if held.Code != "approval_required" || held.ApprovalID == "" {
		t.Fatalf("the agent's call = %+v, want it held", held)
	}
	for _, token := range []string{agent, person, s.token} {
		header := map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}
		for _, at := range []string{"/v1/approvals", "/v1/approvals/" + held.ApprovalID, "/v1/approvals/" + held.ApprovalID + "/approve", "/v1/approvals/rules", "/approvals"} {
			for _, method := range []string{"POST", "PUT", "PATCH"} {
				if code, body := s.request(t, method, at, `{"approve":true,"session":true,"always":true,"yes":true,"args":["path"]}`, header); code < 400 {
					t.Errorf("%s %s = %d %.200s, want that there is no such thing", method, at, code, body)
				}
			}
		}
	}
	again := execAs(t, s, agent, `{"params":{"path":"b.txt","content":"b"},"session":"s","approve":"session","rule":true,"always":true}`)
	if again.Success {
		t.Errorf("a call that approves itself = %+v", again)
	}
	cmd := sallyportCommand(dir, "approvals", "approve", held.ApprovalID, "--session", "--as", "agent", "--expect", proposeRule(t, dir, held.ApprovalID))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "cannot approve its own call") {
		t.Errorf("a rule by the principal that asked = %v %s", err, out)
	}
	cmd = sallyportCommand(dir, "approvals", "approve", held.ApprovalID, "--always", "--as", "agent", "--yes")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "cannot approve its own call") {
		t.Errorf("a yes for always by the principal that asked = %v %s", err, out)
	}
	if list := decodeJSON[[]any](t, runSallyport(t, dir, "approvals", "rules", "--json")); len(list) != 0 {
		t.Errorf("there are rules, or something is allowed for always: %v", list)
	}
}

// execAs makes a call of write_file over HTTP.
func execAs(t *testing.T, s *service, token, body string) (a struct {
	Success    bool   `json:"success"`
	Code       string `json:"code"`
	ApprovalID string `json:"approval_id"`
},
) {
	t.Helper()
	_, text := s.request(t, "POST", "/v1/actions/write_file/execute", body, map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json",
	})
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return a
}

// proposeRule returns the digest of the rule for a held call.
func proposeRule(t *testing.T, dir, id string) string {
	t.Helper()
	return decodeJSON[struct{ SHA256 string }](t, runSallyport(t, dir, "approvals", "approve", id, "--session", "--json")).SHA256
}

// TestTwoProcessesShareTheRunsOfARule has two processes make more calls under one
// rule than it lets through.
func TestTwoProcessesShareTheRunsOfARule(t *testing.T) {
	t.Parallel()
	dir := heldFolder(t, "0s")
	const args = `{"path":"a.txt","content":"a"}`
	hold := sallyportCommand(dir, "call", "write_file", args, "--session", "s", "--json")
	out, _ := hold.Output() // it is held, which is exit code 1
	held := decodeJSON[struct {
		ID string `json:"approval_id"`
	}](t, string(out))
	runSallyport(t, dir, "approvals", "approve", held.ID, "--session", "--expect", proposeRule(t, dir, held.ID))
	var lines strings.Builder
	for n := range 55 {
		fmt.Fprintf(&lines, `{"id":"%d","tool":"write_file","args":%s}`+"\n", n, args)
	}
	var answers [2][]byte
	var both sync.WaitGroup
	for i := range answers {
		both.Go(func() {
			cmd := sallyportCommand(dir, "batch", "--session", "s")
			cmd.Stdin = strings.NewReader(lines.String())
			answers[i], _ = cmd.Output() // some are held, which is exit code 1
		})
	}
	both.Wait()
	all := bytes.Join(answers[:], nil)
	if n, waiting := bytes.Count(all, []byte("\n")), bytes.Count(all, []byte(`"approval_required"`)); n != 110 || waiting != 10 {
		t.Errorf("%d of %d calls are held, want 10 of 110", waiting, n)
	}
	if rules := runSallyport(t, dir, "approvals", "rules"); !strings.Contains(rules, "run 100 of 100") {
		t.Errorf("approvals rules = %s, want all runs used", rules)
	}
}
