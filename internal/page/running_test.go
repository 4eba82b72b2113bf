package page_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// TestARunningCallIsShownAndStopped has a tool say how far it is, and run until it is
// stopped.
func TestARunningCallIsShownAndStopped(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	slow := schema.MustTool(sallyport.Tool{Name: "slow_count", Description: "Counts slowly."}, func(ctx context.Context, c *sallyport.Call, _ struct{}) (sallyport.Result, error) {
		half := 50.0
		c.Emit(sallyport.Progress{Message: "half of <b>it</b>\u202e", Percent: &half, Audience: sallyport.AudienceDashboard})
		c.Emit(sallyport.Progress{Message: "only for logs"})
		close(begun)
		<-ctx.Done()
		return sallyport.Result{}, ctx.Err()
	})
	s := serve(t, strings.Replace(configuration, `["@file"]`, `["@file", slow_count]`, 1), slow)
	v, reader := s.signIn(t, "alice", false), s.signIn(t, "ruth", true)
	// Calls say how far they are while a page is open.
	res, err := v.client.Get(s.url + "/page/events")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the events: %v, %v", res, err)
	}
	defer res.Body.Close()
	ended := make(chan sallyport.Result, 1)
	go func() { ended <- s.call(t, "bob", "s1", "slow_count", `{}`) }()
	<-begun
	_, body := v.get("/page/running")
	for _, text := range []string{"slow_count", "half of &lt;b&gt;it&lt;/b&gt;", "50 %", "bob", "/page/stop"} {
		if !strings.Contains(body, text) {
			t.Errorf("the running call is shown without %q", text)
		}
	}
	if strings.Contains(body, "only for logs") || strings.Contains(body, "\u202e") {
		t.Error("a report for logs, or a control character, is shown")
	}
	_, call, _ := strings.Cut(body, `name="call" value="`)
	call, _, _ = strings.Cut(call, `"`)
	_, csrf, _ := strings.Cut(body, `name="csrf" value="`)
	csrf, _, _ = strings.Cut(csrf, `"`)
	form := url.Values{"csrf": {csrf}, "call": {call}, "reason": {"too slow"}}
	if status, _ := reader.post("/page/stop", form); status != 403 {
		t.Errorf("a person who only looks stops a call: %d", status)
	}
	if status, _ := v.post("/page/stop", url.Values{"csrf": {csrf}, "call": {""}}); status != 409 {
		t.Errorf("stopping no call = %d, want 409", status)
	}
	if status, body := v.post("/page/stop", form); status != 200 {
		t.Errorf("stopping = %d: %s", status, body)
	}
	if res := <-ended; res.OK || strings.Contains(res.Error, "too slow") {
		t.Errorf("the stopped call = %+v, want a failure that does not name what the operator said", res)
	}
	if got := s.changes(t); got[len(got)-1] != "run.end call "+call+" by page:alice" {
		t.Errorf("recorded %q last", got[len(got)-1])
	}
	if _, body := v.get("/page/calls/" + call); !strings.Contains(body, "stopped by page:alice: too slow") {
		t.Error("the history does not say who stopped the call, and why")
	}
}
