package sallyport_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
)

// TestResultJSON compares the wire form with the contract, section 4, and reads
// it back.
func TestResultJSON(t *testing.T) {
	expires := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name   string
		result sallyport.Result
		want   string
	}{
		{
			"success with everything",
			sallyport.Result{OK: true, Value: "v", Structured: map[string]any{"a": "b"}, CostUSD: 0.002, CallID: "id"},
			`{"ok":true,"value":"v","structured":{"a":"b"},"cost_usd":0.002,"call_id":"id"}`,
		},
		{"empty success", sallyport.OK(""), `{"ok":true,"value":""}`},
		{
			"failure",
			sallyport.Result{Error: "bad", Code: sallyport.CodeInputInvalid, CallID: "id"},
			`{"ok":false,"error":"bad","code":"input_invalid","call_id":"id"}`,
		},
		{
			"failure with structured data and a price",
			sallyport.Result{Error: "bad", Code: sallyport.CodeExecutionFailed, Structured: map[string]any{"line": 3.0}, CostUSD: 1},
			`{"ok":false,"structured":{"line":3},"cost_usd":1,"error":"bad","code":"execution_failed"}`,
		},
		{
			"rate limited",
			sallyport.Result{Error: "Rate limit exceeded: x", Code: sallyport.CodeRateLimited, RetryAfter: 1500 * time.Millisecond},
			`{"ok":false,"error":"Rate limit exceeded: x","code":"rate_limited","retry_after_ms":1500}`,
		},
		{
			"rate limited without a wait",
			sallyport.Result{Error: "x", Code: sallyport.CodeRateLimited},
			`{"ok":false,"error":"x","code":"rate_limited","retry_after_ms":0}`,
		},
		{
			"approval required",
			sallyport.Result{Error: "ask", Code: sallyport.CodeApprovalRequired, ApprovalID: "a1", ExpiresAt: expires, CallID: "id"},
			`{"ok":false,"error":"ask","code":"approval_required","approval_id":"a1","expires_at":"2027-01-02T03:04:05Z","call_id":"id"}`,
		},
		{"zero", sallyport.Result{}, `{"ok":false,"error":""}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := json.Marshal(tt.result)
			if err != nil || string(text) != tt.want {
				t.Fatalf("Marshal() = %s, %v, want %s", text, err, tt.want)
			}
			var back sallyport.Result
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatalf("Unmarshal(%s) = %v", text, err)
			}
			if diff := cmp.Diff(tt.result, back); diff != "" {
				t.Errorf("round trip (-want +got):\n%s", diff)
			}
		})
	}
}

// TestResultJSONHasOneVariant checks that a field of the other variant is not
// written, whatever a tool filled in.
func TestResultJSONHasOneVariant(t *testing.T) {
	both := sallyport.Result{
		Value: "v", Error: "e", Code: sallyport.CodeExecutionFailed, RetryAfter: time.Second, Source: "s", ApprovalID: "a",
	}
	for _, tt := range []struct {
		name string
		ok   bool
		want string
	}{
		{"success", true, `{"ok":true,"value":"v"}`},
		{"failure", false, `{"ok":false,"error":"e","code":"execution_failed","approval_id":"a"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			both.OK = tt.ok
			if text, err := json.Marshal(both); err != nil || string(text) != tt.want {
				t.Errorf("Marshal() = %s, %v, want %s", text, err, tt.want)
			}
		})
	}
}

func TestResultJSONRefuses(t *testing.T) {
	for _, text := range []string{
		`{"ok":true,"error":"e"}`, `{"ok":false}`, `{}`, `{"ok":"yes"}`, `{"ok":true,"structured":[]}`, `[]`, `7`,
	} {
		res := sallyport.OK("as it was")
		if err := json.Unmarshal([]byte(text), &res); err == nil {
			t.Errorf("Unmarshal(%s) = nil error, want one", text)
		}
		if res.Value != "as it was" {
			t.Errorf("Unmarshal(%s) changed the result", text)
		}
	}
}

func TestResultJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z<>&"\\ é]{0,12}`)
		want := sallyport.Result{
			OK: rapid.Bool().Draw(t, "ok"), CostUSD: float64(rapid.IntRange(0, 1000).Draw(t, "cost")) / 1000,
			CallID: text.Draw(t, "call"),
		}
		if keys := rapid.MapOf(text, text).Draw(t, "structured"); len(keys) > 0 {
			want.Structured = map[string]any{}
			for k, v := range keys {
				want.Structured[k] = v
			}
		}
		if want.OK {
			want.Value = text.Draw(t, "value")
		} else {
			want.Error = text.Draw(t, "error")
			want.Code = rapid.SampledFrom(sallyport.Codes()).Draw(t, "code").Code
			want.ApprovalID = text.Draw(t, "approval")
			if want.Code == sallyport.CodeRateLimited {
				want.RetryAfter = time.Duration(rapid.IntRange(0, 1e6).Draw(t, "retry")) * time.Millisecond
			}
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatalf("Marshal(%+v) = %v", want, err)
		}
		var got sallyport.Result
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("Unmarshal(%s) = %v", data, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("round trip of %s (-want +got):\n%s", data, diff)
		}
	})
}
