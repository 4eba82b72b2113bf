package httpapi_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// A dashboard sees the calls of its principal, and those of all with a permission; never
// what is internal.
func TestADashboardSeesTheProgressOfCalls(t *testing.T) {
	k := newKit(t, nil)
	lines := func(token string) <-chan string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, k.site.URL+"/v1/progress", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("GET /v1/progress = %v, %v", res, err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		out := make(chan string, 100)
		begun := make(chan bool)
		go func() {
			defer close(out)
			first := true
			for s := bufio.NewScanner(res.Body); s.Scan(); {
				switch text := s.Text(); {
				case text == ":" && first:
					close(begun)
					first = false
				case strings.HasPrefix(text, "data: "):
					out <- text
				}
			}
		}()
		<-begun
		return out
	}
	k.tokens["sub"] = sallyport.Principal{Name: "alice", Permissions: []string{"progress:read"}, Delegation: "call"}
	if r := k.do(http.MethodGet, "/v1/progress", "", "Authorization", "Bearer sub"); r.status != http.StatusForbidden {
		t.Errorf("a sub-agent gets %d", r.status)
	}
	own, operator, other := lines("alice"), lines("watcher"), lines("bob")
	if got := k.execute("stages", `{"session":"s"}`); got.status != 200 {
		t.Fatalf("execute = %d %s", got.status, got.text)
	}
	if err := k.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for name, stream := range map[string]<-chan string{"the principal": own, "an operator": operator} {
		var all []string
		for line := range stream {
			all = append(all, line)
		}
		text := strings.Join(all, "\n")
		if !strings.Contains(text, `"audience":"dashboard"`) || !strings.Contains(text, `"audience":"user"`) || strings.Contains(text, `"audience":"`+string(sallyport.AudienceInternal)) ||
			!strings.Contains(text, `"principal":"alice","session":"s","call_id":"`) {
			t.Errorf("%s sees %s", name, text)
		}
	}
	for line := range other {
		t.Errorf("another principal sees %s", line)
	}
}
