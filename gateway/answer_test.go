package gateway

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

// The server encodes every field of a result as the library does.
func TestResultsAreWrittenAsTheLibraryDoes(t *testing.T) {
	s, err := New(nobody{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	for _, res := range []sallyport.Result{
		{OK: true},
		{OK: true, Value: "a<b>", CallID: "c", CostUSD: 0.25},
		{OK: true, CostUSD: 1e-9},
		{OK: true, CostUSD: 1e21},
		{OK: true, Structured: map[string]any{}},
		{OK: true, Value: "x", Structured: map[string]any{"b": []any{1.5, nil}, "a": "<\u2028>"}},
		{Error: "it broke"},
		{Error: "no", Code: sallyport.CodeInputInvalid},
		{Error: "no", Code: sallyport.CodeExecutionFailed, CostUSD: 2},
		{Error: "slow", Code: sallyport.CodeRateLimited, RetryAfter: 1500 * time.Millisecond},
		{Code: sallyport.CodeRateLimited},
		{Error: "ask", Code: sallyport.CodeApprovalRequired, ApprovalID: "a\"1", ExpiresAt: at, CallID: "c"},
	} {
		text, err := json.Marshal(toolResult(res))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"jsonrpc":"2.0","id":"i","result":` + string(text) + `}`
		got := s.appendResult(nil, &directRequest{id: json.RawMessage(`"i"`)}, &res)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("appendResult(%+v) (-library +own):\n%s", res, diff)
		}
	}
}

// If the gate returns a value that cannot be encoded, the client gets an error
// and not half a result.
func TestResultThatCannotBeWrittenIsAnError(t *testing.T) {
	s, err := New(nobody{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := s.appendResult([]byte("before "), &directRequest{id: json.RawMessage(`1`)}, &sallyport.Result{OK: true, Structured: map[string]any{"f": func() {}}})
	if want := `before {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the result cannot be encoded"}}`; string(got) != want {
		t.Errorf("appendResult() = %s, want %s", got, want)
	}
}

// nobody is a gate without tools; the tests above never call it.
type nobody struct{ Gate }
