package command

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// denialsConfig has one tool for each kind of refusal, and one that works.
const denialsConfig = `version: 1
state: sqlite:.sallyport/state.db
personalities:
  ops:
    toolset: [read_file, fetch_url, write_file, works, guarded, counted, script, stopped, later]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}"]}
    safety: {network: {allow: [api.example.com]}, process: {allow: [cat]}, flow: {after_untrusted: {refuse: [later]}}}
    approvals: {require: [write_file], wait: 0s}
principals:
  local: {permissions: ["http:read"], personalities: [ops]}
actions:
  - {id: works, parameters: {n: {type: integer}}, handler: {exec: {command: [cat, "-"]}}}
  - {id: outside, handler: {exec: {command: [cat, "-"]}}}
  - {id: guarded, permissions: ["weather:read"], handler: {exec: {command: [cat, "-"]}}}
  - {id: counted, rateLimit: {requests: 1, window: 1h}, handler: {exec: {command: [cat, "-"]}}}
  - {id: script, handler: {exec: {path: ./script.py}}}
  - {id: later, handler: {exec: {command: [cat, "-"]}}}
  - {id: stopped, handler: {exec: {command: [cat, "-"]}}}
`

// waits matches the part of a text that depends on the time.
var waits = regexp.MustCompile(`\d+(\.\d+)?(ms|s|m|h|d)+\b|\d+ seconds?`)

// TestCVE_2026_7663_TheSameDenialOnEverySurface makes the same forbidden call
// on each surface. Code, text and the recorded stage must be the same.
func TestCVE_2026_7663_TheSameDenialOnEverySurface(t *testing.T) {
	t.Parallel()
	dir := configured(t, denialsConfig)
	place(t, dir, "script.py", "print('{}')")
	byCommand(t, dir, "counted", `{}`) // uses up the only admitted call
	runSallyport(t, dir, "principals", "stop", "--tool", "stopped", "--reason", "found broken")
	surfaces := surfacesOf(t, dir)
	kinds := []struct{ name, tool, args, code, text, stage string }{
		{"unknown", "nothing", `{}`, "not_available", "Unknown tool: nothing", "find"},
		{"outside the personality", "outside", `{}`, "not_available", "Tool outside is not permitted for this personality", "visible"},
		{"permission", "guarded", `{}`, "permission_denied", "Permission denied: guarded requires weather:read", "permit"},
		{"schema", "works", `{"n":"one","m":2}`, "input_invalid", "/n", "validate"},
		{"host", "fetch_url", `{"url":"https://evil.example/"}`, "execution_failed", "HOST_NOT_ALLOWED: evil.example", "access"},
		{"address", "fetch_url", `{"url":"http://169.254.169.254/"}`, "execution_failed", "HOST_NOT_ALLOWED: 169.254.169.254", "access"},
		{"path", "read_file", `{"path":"/etc/passwd"}`, "execution_failed", "PATH_NOT_REACHABLE: read not permitted for /etc/passwd", "access"},
		{"binary", "script", `{}`, "execution_failed", "BINARY_NOT_ALLOWED: ", "access"},
		{"rate limit", "counted", `{}`, "rate_limited", "Rate limit exceeded: ", "limit"},
		{"kill switch", "stopped", `{}`, "not_available", "Tool stopped is not currently available", "visible"},
		{"after what was read", "later", `{}`, "permission_denied", "Permission denied: later may not run after untrusted content was read", "approve"},
		{"held", "write_file", `{"path":"a.txt","content":"held"}`, "approval_required", "write_file requires explicit approval", "approve"},
	}
	stages := map[string]string{} // by call
	for _, k := range kinds {
		var first verdict
		for i, s := range surfaces {
			v := s.call(t, k.tool, k.args)
			if v.OK || v.Code != k.code || !strings.Contains(v.Text, k.text) || v.CallID == "" {
				t.Errorf("%s, %s = %+v, want %s and %q", k.name, s.name, v, k.code, k.text)
			}
			stages[v.CallID] = k.stage
			if v.Text, v.CallID = waits.ReplaceAllString(v.Text, "T"), ""; i == 0 {
				first = v
			}
			v.ApprovalID, first.ApprovalID = "", ""
			if diff := cmp.Diff(first, v); diff != "" {
				t.Errorf("%s: %s and %s differ:\n%s", k.name, surfaces[0].name, s.name, diff)
			}
		}
	}
	for id := range deniedByAHuman(t, dir, surfaces) {
		stages[id] = "approve"
	}
	checkStages(t, dir, stages, (len(kinds)+1)*len(surfaces))
}

// deniedByAHuman has a call of each surface held and denied, then repeats it.
func deniedByAHuman(t *testing.T, dir string, surfaces []surface) (calls map[string]bool) {
	t.Helper()
	calls = map[string]bool{}
	texts := map[string]bool{}
	for i, s := range surfaces {
		args := fmt.Sprintf(`{"path":"b.txt","content":"%d"}`, i)
		held := s.call(t, "write_file", args)
		if held.Code != "approval_required" || held.ApprovalID == "" {
			t.Fatalf("%s = %+v, want a held call", s.name, held)
		}
		runSallyport(t, dir, "approvals", "deny", held.ApprovalID, "--reason", "not this one")
		v := s.call(t, "write_file", args)
		if v.OK || v.Code != "approval_denied" || !strings.Contains(v.Text, "not this one") {
			t.Errorf("%s after a denial = %+v, want approval_denied", s.name, v)
		}
		texts[v.Text], calls[v.CallID] = true, true
	}
	if len(texts) != 1 {
		t.Errorf("the denial reads %v, want one text", texts)
	}
	return calls
}

// checkStages compares the recorded stages with the wanted ones.
func checkStages(t *testing.T, dir string, want map[string]string, calls int) {
	t.Helper()
	if len(want) != calls {
		t.Errorf("%d calls have ids of their own, want %d", len(want), calls)
	}
	found := 0
	for _, r := range records(t, dir) {
		stage, ok := want[r.CallID]
		if r.Kind != "outcome" || !ok {
			continue
		}
		if found++; r.OK || r.Stage != stage || r.Principal != "local" {
			t.Errorf("the record of %s says %+v, want a refusal at %s", r.Tool, r, stage)
		}
	}
	if found != calls {
		t.Errorf("the record holds %d of %d refusals", found, calls)
	}
}
