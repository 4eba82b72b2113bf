package gateway

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// The protocol library, which clients use, reads every field of a result as it was
// meant.
func TestTheLibraryReadsWhatResultsSay(t *testing.T) {
	c, err := newCore(toolless{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	for _, tt := range []struct {
		res  sallyport.Result
		want mcp.CallToolResult
	}{
		{sallyport.Result{OK: true}, mcp.CallToolResult{Meta: mcp.Meta{"sallyport/call": ""}, Content: texts("")}},
		{
			sallyport.Result{OK: true, Value: "a<b>", CallID: "c", CostUSD: 0.25},
			mcp.CallToolResult{Meta: mcp.Meta{"sallyport/call": "c", "sallyport/cost_usd": 0.25}, Content: texts("a<b>")},
		},
		{sallyport.Result{OK: true, CostUSD: 1e-9}, mcp.CallToolResult{Meta: mcp.Meta{"sallyport/call": "", "sallyport/cost_usd": 1e-9}, Content: texts("")}},
		{sallyport.Result{OK: true, CostUSD: 1e21}, mcp.CallToolResult{Meta: mcp.Meta{"sallyport/call": "", "sallyport/cost_usd": 1e21}, Content: texts("")}},
		{
			sallyport.Result{OK: true, Structured: map[string]any{}},
			mcp.CallToolResult{Meta: mcp.Meta{"sallyport/call": ""}, Content: texts(""), StructuredContent: map[string]any{}},
		},
		{
			sallyport.Result{OK: true, Value: "x", Structured: map[string]any{"b": []any{1.5, nil}, "a": "<\u2028>"}},
			mcp.CallToolResult{Meta: mcp.Meta{"sallyport/call": ""}, Content: texts("x"), StructuredContent: map[string]any{"b": []any{1.5, nil}, "a": "<\u2028>"}},
		},
		{sallyport.Result{Error: "it broke"}, mcp.CallToolResult{Meta: mcp.Meta{"sallyport/call": "", "sallyport/code": ""}, Content: texts(": it broke"), IsError: true}},
		{
			sallyport.Result{Error: "no", Code: sallyport.CodeExecutionFailed, CostUSD: 2},
			mcp.CallToolResult{Meta: mcp.Meta{"sallyport/call": "", "sallyport/code": "execution_failed", "sallyport/cost_usd": 2.0}, Content: texts("no"), IsError: true},
		},
		{
			sallyport.Result{Error: "slow", Code: sallyport.CodeRateLimited, RetryAfter: 1500 * time.Millisecond},
			mcp.CallToolResult{Meta: mcp.Meta{"sallyport/call": "", "sallyport/code": "rate_limited", "sallyport/retry_after_ms": 1500.0}, Content: texts("rate_limited: slow"), IsError: true},
		},
		{
			sallyport.Result{Error: "ask", Code: sallyport.CodeApprovalRequired, ApprovalID: "a\"1", ExpiresAt: at, CallID: "c"},
			mcp.CallToolResult{Meta: mcp.Meta{
				"sallyport/call": "c", "sallyport/code": "approval_required", "sallyport/approval_id": "a\"1", "sallyport/expires_at": "2026-01-02T03:04:05.000000006+01:00",
			}, Content: texts("approval_required: ask\nCall ID: c"), IsError: true},
		},
	} {
		text, err := c.appendToolResult(nil, false, &tt.res)
		if err != nil {
			t.Fatal(err)
		}
		var got mcp.CallToolResult
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		// As text, the fields that only the library sets do not differ.
		if diff := cmp.Diff(encoded(t, &tt.want), encoded(t, &got)); diff != "" {
			t.Errorf("appendToolResult(%+v) (-want +got):\n%s", tt.res, diff)
		}
	}
}

func texts(text string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: text}} }

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// If the gate returns a value that cannot be encoded, the client gets an error
// and not half a result.
func TestResultThatCannotBeWrittenIsAnError(t *testing.T) {
	c, err := newCore(toolless{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.appendToolResult(nil, false, &sallyport.Result{OK: true, Structured: map[string]any{"f": func() {}}})
	if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != jsonrpc.CodeInternalError || e.Message != "the result cannot be encoded" {
		t.Errorf("appendToolResult() = %v, want that the result cannot be encoded", err)
	}
}

// toolless is a gate without tools; the tests above never call it.
type toolless struct{ Gate }
