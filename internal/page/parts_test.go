package page_test

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

func TestTheOtherPartsAreShown(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	v := s.signIn(t, "alice", true)
	s.call(t, "bob", "s1", "read_file", `{"path":"README.md"}`)
	for path, want := range map[string][]string{
		"/page/roles":                     {"reader", "read_file", "write_file", "asks", "runtime", "1×", "unused"},
		"/page/roles/default/write_file":  {"write_file for personality default", "suggest --role default --since 30d"},
		"/page/roles/reader/write_file":   {"deny"},
		"/page/servers":                   {"names no MCP server"},
		"/page/health":                    {"bob", "local", "page:alice", "Nothing.", "enforced"},
		"/page/roles/default/%3Cb%3Ex%3C": {"&lt;b&gt;x&lt;"},
	} {
		status, body := v.get(path)
		for _, text := range want {
			if status != 200 || !strings.Contains(body, text) && !strings.Contains(strings.ReplaceAll(body, "<bdi>", ""), text) {
				t.Errorf("%s = %d without %q", path, status, text)
			}
		}
		if strings.Contains(body, "/page/switch") {
			t.Errorf("%s offers a person who only looks to stop something", path)
		}
	}
	if status, _ := v.get("/page/roles/none/read_file"); status != 404 {
		t.Errorf("an unknown role = %d, want 404", status)
	}
}

// TestAChangeIsShownBeforeItIsMade shows the difference and the command that writes it,
// and writes nothing.
func TestAChangeIsShownBeforeItIsMade(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	v := s.signIn(t, "alice", true)
	before := s.readConfiguration(t)
	for query, want := range map[string][]string{
		"verb=grant&kind=read&item=/opt/data":           {"/opt/data", "sallyport grant role:reader --read /opt/data --config "},
		"verb=grant&kind=read&item=../elsewhere":        {"Expected an absolute path"},
		"verb=grant&kind=host&item=api.example.com":     {"has no list for this"},
		"verb=revoke&kind=read&item=%24%7Bworkspace%7D": {"sallyport revoke role:reader --read"},
		"verb=grant&kind=read&item=%24%7Bworkspace%7D":  {"Nothing would change."},
		"verb=grant&kind=host&item=%3Cb%3E":             {"&lt;b&gt;"},
		"verb=grant&kind=everything&item=x":             {"Expected read, write"},
	} {
		status, body := v.get("/page/roles/reader/read_file?" + query)
		for _, text := range want {
			if status != 200 || !strings.Contains(body, text) {
				t.Errorf("%s = %d without %q: %s", query, status, text, body)
			}
		}
	}
	if now := s.readConfiguration(t); now != before {
		t.Errorf("looking at a change wrote it:\n%s", now)
	}
}

func TestAPersonStopsAndReleases(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	v, reader := s.signIn(t, "alice", false), s.signIn(t, "ruth", true)
	csrf := v.form(s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)).Get("csrf")
	stop := url.Values{"csrf": {csrf}, "do": {"stop"}, "kind": {"principal"}, "name": {"bob"}, "reason": {"leaked"}}
	if status, _ := reader.post("/page/switch", stop); status != 403 {
		t.Errorf("a person who only looks stops: %d", status)
	}
	if status, body := v.post("/page/switch", stop); status != 200 || !strings.Contains(body, "principal bob is stopped") {
		t.Errorf("stopping = %d: %s", status, body)
	}
	if res := s.call(t, "bob", "s1", "read_file", `{"path":"README.md"}`); res.OK {
		t.Error("a stopped principal calls")
	}
	// What stops everything must not shut out the person who can release it.
	everything := url.Values{"csrf": {csrf}, "do": {"stop"}, "kind": {"everything"}}
	if status, body := v.post("/page/switch", everything); status != 200 || !strings.Contains(body, "everything is stopped") {
		t.Errorf("stopping everything = %d: %s", status, body)
	}
	for _, what := range []url.Values{
		{"csrf": {csrf}, "do": {"start"}, "kind": {"everything"}}, {"csrf": {csrf}, "do": {"start"}, "kind": {"principal"}, "name": {"bob"}},
	} {
		if status, body := v.post("/page/switch", what); status != 200 {
			t.Errorf("releasing = %d: %s", status, body)
		}
	}
	if res := s.call(t, "bob", "s1", "read_file", `{"path":"README.md"}`); !res.OK {
		t.Errorf("a released principal does not call: %s", res.Error)
	}
	for _, bad := range []url.Values{{"csrf": {csrf}}, {"csrf": {csrf}, "do": {"stop"}, "kind": {"sun"}}, {"csrf": {csrf}, "do": {"stop"}, "kind": {"tool"}}} {
		if status, _ := v.post("/page/switch", bad); status < 400 {
			t.Errorf("%v = %d, want a refusal", bad, status)
		}
	}
	// A person who is stopped is shut out at once.
	if err := s.rt.Stop(t.Context(), "principal", "page:alice", ""); err != nil {
		t.Fatal(err)
	}
	if status, _ := v.get("/"); status != 401 {
		t.Errorf("a stopped person sees the page: %d", status)
	}
	if got := s.changes(t); got[len(got)-2] != "switch.start principal bob by page:alice" {
		t.Errorf("recorded %q", got)
	}
}

// TestHealthShowsCostsLimitsAndTheChain shows what was spent of a budget, what a tool is
// limited to, and whether the record holds.
func TestHealthShowsCostsLimitsAndTheChain(t *testing.T) {
	t.Parallel()
	text := strings.Replace(configuration, "  bob: {", "  bob: {budget: {day: 0.5}, ", 1)
	text = strings.Replace(text, `["@file"]`, `["@file", ask_model]`, 1)
	s := serve(t, text, sallyport.Tool{
		Name: "ask_model", Schema: json.RawMessage(`{"type":"object"}`), RateLimit: &sallyport.RateLimit{Requests: 3, Window: time.Minute}, MaxCostUSD: 0.25,
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			res := sallyport.OK("yes")
			res.CostUSD = 0.25
			return res, nil
		},
	})
	v := s.signIn(t, "alice", false)
	want := func(texts ...string) {
		t.Helper()
		_, body := v.get("/page/health")
		for _, text := range texts {
			if !strings.Contains(body, text) {
				t.Errorf("/page/health without %q:\n%s", text, body)
			}
		}
	}
	want("0 of 0.5 USD", "<code>ask_model</code> at most 3 calls in 1m0s", "not verified since the server started", "0 calls waiting")
	for range 2 {
		if res := s.call(t, "bob", "s1", "ask_model", `{}`); !res.OK {
			t.Fatalf("the call = %+v", res)
		}
	}
	_, body := v.get("/page/health")
	csrf := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(body)[1]
	if status, _ := v.post("/page/verify", url.Values{"csrf": {csrf}}); status != 200 {
		t.Errorf("verifying = %d", status)
	}
	want("0.5 of 0.5 USD", "used up", "verified</span> ", "records, up to")
	if status, _ := v.post("/page/verify", nil); status != 403 {
		t.Errorf("verifying without the form = %d, want 403", status)
	}
}
