package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// ruledFolder is a folder whose calls of write_file wait, with who may decide.
func ruledFolder(t *testing.T, approvers string) string {
	t.Helper()
	return heldFolder(t, "0s, approvers: "+approvers)
}

// holdCall makes a call that is held, and returns the id of the held call.
func holdCall(t *testing.T, dir, path string) string {
	t.Helper()
	out, _ := sallyportCommand(dir, "call", "write_file", `{"path":"`+path+`","content":"x"}`, "--json").Output() // it is held, which is exit code 1
	held := decodeJSON[sallyport.Result](t, string(out))
	if held.ApprovalID == "" {
		t.Fatalf("the call is not held: %s", out)
	}
	return held.ApprovalID
}

// heldOf returns a held call as approvals ls shows it.
func heldOf(t *testing.T, dir, id string) sallyport.Approval {
	t.Helper()
	return decodeJSON[[]sallyport.Approval](t, runSallyport(t, dir, "approvals", "ls", id, "--json"))[0]
}

// TestTwoProcessesCountTwoPeople has two people decide at once, through two servers on one
// state: each counts once, whatever they send how often, and a no of the same moment wins.
func TestTwoProcessesCountTwoPeople(t *testing.T) {
	t.Parallel()
	dir := ruledFolder(t, "{by: [ann, ben, carl, dora], needed: 2}")
	tokens := map[string]string{}
	for _, name := range []string{"ann", "ben", "carl", "eve"} {
		tokens[name] = strings.TrimSpace(runSallyport(t, dir, "principals", "add", name, "--permission", "approvals:decide"))
	}
	servers := []*service{serveHTTP(t, dir), serveHTTP(t, dir)}
	decide := func(s *service, who, id, answer string) int {
		header := map[string]string{"Authorization": "Bearer " + tokens[who], "Content-Type": "application/json"}
		_, text := s.request(t, "GET", "/v1/approvals/"+id, "", header)
		var one struct{ Shown map[string]string }
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Errorf("%v in %s", err, text)
		}
		status, _ := s.request(t, "POST", "/v1/approvals/"+id, fmt.Sprintf(`{"answer":%q,"shown":%q}`, answer, one.Shown[answer]), header)
		return status
	}
	atOnce := func(id string, answers ...[2]string) {
		var all sync.WaitGroup
		for _, a := range answers {
			for _, s := range servers {
				all.Go(func() { decide(s, a[0], id, a[1]) })
			}
		}
		all.Wait()
	}
	for n := range 2 {
		id := holdCall(t, dir, fmt.Sprintf("one%d.txt", n))
		atOnce(id, [2]string{"ann", "once"}, [2]string{"eve", "once"})
		if a := heldOf(t, dir, id); a.State != sallyport.ApprovalPending {
			t.Errorf("one person and one who may not decide: the call is %s by %s", a.State, a.DecidedBy)
		}
		atOnce(id, [2]string{"ann", "once"}, [2]string{"ben", "once"})
		if a := heldOf(t, dir, id); a.State != sallyport.ApprovalApproved || a.DecidedBy != "ann and ben" {
			t.Errorf("two people: the call is %s by %q", a.State, a.DecidedBy)
		}
		id = holdCall(t, dir, fmt.Sprintf("both%d.txt", n))
		atOnce(id, [2]string{"ann", "once"}, [2]string{"ben", "once"})
		if a := heldOf(t, dir, id); a.State != sallyport.ApprovalApproved || a.DecidedBy != "ann and ben" && a.DecidedBy != "ben and ann" {
			t.Errorf("two people at once: the call is %s by %q", a.State, a.DecidedBy)
		}
		id = holdCall(t, dir, fmt.Sprintf("no%d.txt", n))
		atOnce(id, [2]string{"ann", "once"}, [2]string{"ben", "once"}, [2]string{"carl", "refuse"})
		if a := heldOf(t, dir, id); a.State != sallyport.ApprovalDenied || a.DecidedBy != "carl" {
			t.Errorf("a yes and a no at once: the call is %s by %q", a.State, a.DecidedBy)
		}
	}
	for _, s := range servers {
		s.stop(t)
	}
}

// TestTheLocalUserIsOnePerson at the command line, under whatever name, and no approver
// unless the rule names it.
func TestTheLocalUserIsOnePerson(t *testing.T) {
	t.Parallel()
	dir := ruledFolder(t, "{by: [local, page:ann], needed: 2}")
	id := holdCall(t, dir, "a.txt")
	if out := runSallyport(t, dir, "approvals", "approve", id); !strings.Contains(out, "your yes counts") || !strings.Contains(out, "yes: 1 of 2: local") {
		t.Errorf("the first yes = %s", out)
	}
	for _, args := range [][]string{{}, {"--as", "ann"}, {"--as", "ben"}, {"--session"}, {"--always", "--yes"}} {
		out, err := sallyportCommand(dir, append([]string{"approvals", "approve", id}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "said yes to this call before") && !strings.Contains(string(out), "several people decide") {
			t.Errorf("approve %v = %v %s", args, err, out)
		}
	}
	for _, want := range []string{"yes: 1 of 2: local", "decides: local, page:ann"} {
		for _, args := range [][]string{{"ls"}, {"ls", id}} {
			if out := runSallyport(t, dir, append([]string{"approvals"}, args...)...); !strings.Contains(out, want) {
				t.Errorf("approvals %v lacks %q:\n%s", args, want, out)
			}
		}
	}
	if a := heldOf(t, dir, id); a.State != sallyport.ApprovalPending {
		t.Errorf("the call is %s", a.State)
	}
	out := runSallyport(t, dir, "explain", "write_file")
	if !strings.Contains(out, "about a held call decide 2 different people of: local, page:ann") {
		t.Errorf("explain says nothing of who decides:\n%s", out)
	}

	other := ruledFolder(t, "{by: [page:ann]}")
	id = holdCall(t, other, "a.txt")
	for _, args := range [][]string{{"approve", id}, {"deny", id}, {"approve", id, "--as", "ann"}, {"approve", id, "--session"}, {"approve", id, "--always", "--yes"}} {
		out, err := sallyportCommand(other, append([]string{"approvals"}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "not an approver of this call") {
			t.Errorf("approvals %v = %v %s", args, err, out)
		}
	}
	if record := runSallyport(t, other, "audit", "tail"); strings.Count(record, "refused ") != 5 {
		t.Errorf("the record has not the 5 refused decisions:\n%s", record)
	}
	if a := heldOf(t, other, id); a.State != sallyport.ApprovalPending {
		t.Errorf("the call is %s", a.State)
	}
}

// TestAClientsPersonDecidesByTheRule: who may not decide is not asked, and who says one yes
// of two lets nothing run, and is not asked again.
func TestAClientsPersonDecidesByTheRule(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		for approvers, want := range map[string]struct {
			asked int
			says  string
		}{
			"{by: [local]}": {0, "before "},
			"{by: [local], escalate: {after: 30m, to: [client:local]}}":                     {0, "the person behind this client may not decide about it"},
			"{by: [page:ann, client:local], needed: 2}":                                     {1, "has said yes, and another person has to"},
			"{by: [page:ann], tools: {write_file: {by: [client:local, local], needed: 1}}}": {2, "Wrote"},
		} {
			t.Run(version+approvers, func(t *testing.T) {
				dir, asked := ruledFolder(t, approvers), 0
				s := connectStdio(t, dir, version, &mcp.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						if asked++; strings.Contains(approvers, "needed: 2") && !strings.Contains(r.Params.Message, "2 different people have to say yes") {
							t.Errorf("the form does not say what a yes is worth:\n%s", r.Params.Message)
						}
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
					},
				})
				var text string
				for range 2 {
					res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": "a.txt", "content": "a"}})
					if err != nil {
						t.Fatal(err)
					}
					text = fmt.Sprint(res.Content[0].(*mcp.TextContent).Text)
				}
				if approvers == "{by: [local]}" && strings.Contains(text, "behind this client") {
					t.Errorf("a client that is never asked does not wait like others: %q", text)
				}
				if asked != want.asked || !strings.Contains(text, want.says) {
					t.Errorf("asked %d times, and the second answer is %q, want %d and %q", asked, text, want.asked, want.says)
				}
				_, err := os.Stat(filepath.Join(dir, "a.txt"))
				if ran := err == nil; ran != (want.says == "Wrote") {
					t.Errorf("the call ran: %v", ran)
				}
			})
		}
	}
}
