package gateway_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// says returns a person who always gives the same answer.
func says(action string, content map[string]any) func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: action, Content: content}, nil
	}
}

// callHeld makes a call that is held.
func callHeld(t *testing.T, s *mcp.ClientSession, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "held", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

var askID = regexp.MustCompile(`Approval: ([0-9a-z]{24})`)

// TestAPersonIsToldWhatWasRead: if a call is held because of earlier calls, the
// question says so and names them.
func TestAPersonIsToldWhatWasRead(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk, connect func(func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientSession) {
		d.role.MCPServers, d.role.Flow.Approve = []string{"a"}, []string{"free"}
		var asked []string
		s := connect(func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked = append(asked, p.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		})
		for _, tool := range []string{"free", "mcp__a__b", "free"} {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
			if err != nil || res.IsError {
				t.Fatalf("%s = %+v, %v", tool, res, err)
			}
		}
		if len(asked) != 1 || !strings.Contains(asked[0], "Why: the tool is listed, after untrusted content (mcp__a__b in the session, call ") {
			t.Errorf("asked %q, want one question with the reason", asked)
		}
	})
}

func TestAPersonApprovesAHeldCall(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk, connect func(func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientSession) {
		var asked []*mcp.ElicitParams
		s := connect(func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked = append(asked, p)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true, "reason": " as \x1b[31magreed\u202e "}}, nil
		})
		res := callHeld(t, s, map[string]any{"to": "a@example.com", "key": "hunter2-Zq9xY7w", "odd": "a\u200bb"})
		if got := text(t, res, nil); res.IsError || !strings.HasPrefix(got, "ran with ") || d.ran.Load() != 1 {
			t.Errorf("result = %q after %d runs, want that it ran once", got, d.ran.Load())
		}
		principal := "alice"
		if strings.Contains(t.Name(), "stdio") {
			principal = "local"
		}
		if diff := cmp.Diff([]decision{{By: "client:" + principal, Reason: "as agreed", Approve: true}}, d.decisions()); diff != "" {
			t.Errorf("decisions (-want +got):\n%s", diff)
		}
		if len(asked) != 1 || asked[0].Mode != "form" || asked[0].URL != "" {
			t.Fatalf("asked %+v, want one form", asked)
		}
		for _, want := range []string{"Tool: held\n", `"to":"a@example.com"`, "Principal: " + principal, "Personality: role", "Expires: 20", "hold 1 control or invisible"} {
			if !strings.Contains(asked[0].Message, want) {
				t.Errorf("the question lacks %q:\n%s", want, asked[0].Message)
			}
		}
		if strings.Contains(asked[0].Message, "hunter2") || strings.Contains(asked[0].Message, "\u200b") {
			t.Errorf("the question tells a secret or hides a character:\n%q", asked[0].Message)
		}
		// The decision was for one run.
		callHeld(t, s, map[string]any{"to": "a@example.com", "key": "hunter2-Zq9xY7w", "odd": "a\u200bb"})
		if len(asked) != 2 || askID.FindString(asked[0].Message) == askID.FindString(asked[1].Message) {
			t.Errorf("asked %d times, want a new question for a new call", len(asked))
		}
	})
}

func TestWhatAPersonDoesNotApproveDoesNotRun(t *testing.T) {
	denied, held := sallyport.CodeApprovalDenied, sallyport.CodeApprovalRequired
	tests := []struct {
		name   string
		answer func(*mcp.ElicitParams) (*mcp.ElicitResult, error)
		code   sallyport.Code // empty: an error of the protocol is right too
		want   []decision
	}{
		{name: "decline", answer: says("decline", nil), code: denied, want: []decision{{By: "client:"}}},
		{name: "cancel", answer: says("cancel", nil), code: held},
		{name: "accepts without approving", answer: says("accept", map[string]any{"approve": false, "reason": "no"}), code: denied, want: []decision{{By: "client:", Reason: "no"}}},
		{name: "accepts nothing", answer: says("accept", nil)},
		{name: "approve is missing", answer: says("accept", map[string]any{"reason": "yes"})},
		{name: "approve is a text", answer: says("accept", map[string]any{"approve": "true"})},
		{name: "approve is a number", answer: says("accept", map[string]any{"approve": 1})},
		{name: "another spelling", answer: says("accept", map[string]any{"Approve": true})},
		{name: "a decline that approves", answer: says("decline", map[string]any{"approve": true}), code: denied, want: []decision{{By: "client:"}}},
		{name: "an unknown action", answer: says("yes", map[string]any{"approve": true})},
		{name: "a reason that is a list", answer: says("accept", map[string]any{"approve": true, "reason": []any{"x"}})},
		{name: "a huge reason", answer: says("accept", map[string]any{"approve": true, "reason": strings.Repeat("x", 1<<20)})},
		{name: "an error", answer: func(*mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, errors.New("no screen") }},
	}
	eachDesk(t, func(t *testing.T, d *desk, connect func(func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientSession) {
		for i, tt := range tests {
			s := connect(tt.answer)
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "held", Arguments: map[string]any{"n": i}})
			if err == nil && (!res.IsError || tt.code != "" && res.Meta["sallyport/code"] != string(tt.code)) || err != nil && tt.code != "" {
				t.Errorf("%s: result %+v, error %v, want %s", tt.name, res, err, tt.code)
			}
			if err == nil && tt.code == held && res.Meta["sallyport/approval_id"] == nil {
				t.Errorf("%s: the result names no approval: %v", tt.name, res.Meta)
			}
			got := d.decisions()
			for i := range got {
				got[i].By = got[i].By[:len("client:")]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: decisions (-want +got):\n%s", tt.name, diff)
			}
		}
		if d.ran.Load() != 0 {
			t.Errorf("%d calls ran, want none", d.ran.Load())
		}
	})
}

// TestNobodyIsAskedWhoShallNotBe: a call is held without a question if its
// client cannot ask, or if its personality leaves the decision to the operator.
func TestNobodyIsAskedWhoShallNotBe(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk, connect func(func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientSession) {
		if res := callHeld(t, connect(nil), map[string]any{}); res.Meta["sallyport/code"] != string(sallyport.CodeApprovalRequired) {
			t.Errorf("a client that cannot ask got %+v, want approval_required", res)
		}
		d.role.Approvals.OperatorOnly = true
		s := connect(func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
			t.Error("a question was asked, want none")
			return nil, errors.New("no")
		})
		if res := callHeld(t, s, map[string]any{}); res.Meta["sallyport/code"] != string(sallyport.CodeApprovalRequired) {
			t.Errorf("the operator's personality got %+v, want approval_required", res)
		}
		if got := d.decisions(); got != nil {
			t.Errorf("decisions = %v, want none", got)
		}
	})
}

// TestPromptsAndResourcesAreAskedAboutToo, because they are calls.
func TestPromptsAndResourcesAreAskedAboutToo(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk, connect func(func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientSession) {
		approve := true
		s := connect(func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": approve}}, nil
		})
		if _, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "held", Arguments: map[string]string{"a": "b"}}); err != nil || d.ran.Load() != 1 {
			t.Errorf("GetPrompt() = %v after %d runs, want one", err, d.ran.Load())
		}
		if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://held"}); err != nil || d.ran.Load() != 2 {
			t.Errorf("ReadResource() = %v after %d runs, want two", err, d.ran.Load())
		}
		approve = false
		_, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "held"})
		if e := refusal(t, err); !strings.HasPrefix(e.Message, "approval_denied: ") || d.ran.Load() != 2 {
			t.Errorf("GetPrompt() = %v, want approval_denied", err)
		}
	})
}

// TestADecisionThatCannotBeKeptIsNone: a decision counts only once it is
// recorded.
func TestADecisionThatCannotBeKeptIsNone(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk, connect func(func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientSession) {
		d.broken = errors.New("the disk is full")
		s := connect(says("accept", map[string]any{"approve": true}))
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "held", Arguments: map[string]any{}})
		if err == nil && !res.IsError || d.ran.Load() != 0 {
			t.Errorf("result %+v, %v after %d runs, want that it is still held", res, err, d.ran.Load())
		}
		if err != nil && strings.Contains(err.Error(), "disk") {
			t.Errorf("the client is told %v, want no cause", err)
		}
	})
}
