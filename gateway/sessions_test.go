package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestOnePrincipalLeavesSessionsToOthers: a principal that opens as many as it
// may does not keep other principals out.
func TestOnePrincipalLeavesSessionsToOthers(t *testing.T) {
	url := newKit(t).site(t).URL + "/mcp"
	begin := func(c *http.Client) (status int, session string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("Mcp-Session-Id")
	}
	alice := client(t, "alice")
	var last string
	for i := range 500 {
		status, session := begin(alice)
		if status != http.StatusOK {
			t.Fatalf("session %d: status %d, want 200", i, status)
		}
		last = session
	}
	if status, _ := begin(alice); status != http.StatusServiceUnavailable {
		t.Errorf("one more: status %d, want 503", status)
	}
	if status, _ := begin(client(t, "bob")); status != http.StatusOK {
		t.Errorf("another principal: status %d, want 200", status)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", last)
	if res, err := alice.Do(r); err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusNoContent {
		t.Fatalf("the end of a session = %v, %v, want 204", res, err)
	}
	if status, _ := begin(alice); status != http.StatusOK {
		t.Errorf("after one ended: status %d, want 200", status)
	}
}
