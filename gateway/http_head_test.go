package gateway

import (
	"net/http"
	"testing"
)

// TestCheckHead: what the head of a request says by itself is checked before its
// body is read.
func TestCheckHead(t *testing.T) {
	const both = "application/json, text/event-stream"
	for _, tt := range []struct {
		name, method string
		header       http.Header
		status       int
	}{
		{"usual", "POST", head("Accept", both), 0},
		{"anything", "POST", head("Accept", "*/*"), 0},
		{"classes", "POST", head("Accept", "text/*, application/*"), 0},
		{"weights and case", "POST", head("Accept", "APPLICATION/JSON;q=0.5, Text/Event-Stream ;q=0.1"), 0},
		{"two headers", "POST", http.Header{"Accept": {"application/json", "text/event-stream"}, "Content-Type": {"application/json"}}, 0},
		{"nothing accepted", "POST", head(), 400},
		{"text alone", "POST", head("Accept", "application/json"), 400},
		{"stream alone", "POST", head("Accept", "text/event-stream"), 400},
		{"a longer word", "POST", head("Accept", "application/jsonx, text/event-stream"), 400},
		{"charset", "POST", head("Accept", both, "Content-Type", "application/json; charset=utf-8"), 0},
		{"a form", "POST", head("Accept", both, "Content-Type", "text/plain"), 415},
		{"a broken type", "POST", head("Accept", both, "Content-Type", "application/json; charset"), 415},
		{"resumption", "POST", head("Accept", both, "Last-Event-Id", "x_1"), 400},
		{"each version", "POST", head("Accept", both, "Mcp-Protocol-Version", "2024-11-05"), 0},
		{"no version", "POST", head("Accept", both, "Mcp-Protocol-Version", "2020-01-01"), 400},
		{"a word", "POST", head("Accept", both, "Mcp-Protocol-Version", "2025-11-25x"), 400},
		{"a later version", "POST", head("Accept", both, "Mcp-Protocol-Version", "2027-01-01"), 0}, // refused with the body
		{"stream", "GET", head("Accept", "text/event-stream", "Mcp-Session-Id", "s"), 0},
		{"stream of no session", "GET", head("Accept", "text/event-stream"), 400},
		{"stream as text", "GET", head("Accept", "application/json", "Mcp-Session-Id", "s"), 400},
		{"resumed stream", "GET", head("Accept", "text/event-stream", "Mcp-Session-Id", "s", "Last-Event-Id", "x_1"), 400},
		{"stream without sessions", "GET", head("Accept", "text/event-stream", "Mcp-Protocol-Version", "2026-07-28"), 405},
		{"end", "DELETE", head("Mcp-Session-Id", "s"), 0},
		{"end of no session", "DELETE", head(), 400},
		{"end without sessions", "DELETE", head("Mcp-Session-Id", "s", "Mcp-Protocol-Version", "2026-07-28"), 405},
		{"another method", "PUT", head("Accept", both, "Mcp-Session-Id", "s"), 405},
	} {
		if status, why := checkHead(&http.Request{Method: tt.method, Header: tt.header}); status != tt.status {
			t.Errorf("%s: checkHead() = %d %s, want %d", tt.name, status, why, tt.status)
		}
	}
}

// head returns headers with a content type unless it is given.
func head(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}
