package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// logLines reads the standard error of a server that logs JSON.
func logLines(t *testing.T, s *service) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(s.stderr.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("the log has a line that is not JSON: %q: %v", line, err)
		}
		lines = append(lines, m)
	}
	return lines
}

// TestServeLogsRequestsAndCalls makes a call, one that is refused, and a login that
// fails. Each has its line, the ids join them, and no secret or argument is in any.
func TestServeLogsRequestsAndCalls(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	place(t, dir, app.ConfigName, configText(t, dir)+"log: {format: json, level: info}\n")
	place(t, dir, "notes.txt", "the content of the file")
	s := serveHTTP(t, dir)
	status, _ := s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"notes.txt"}}`, s.headers())
	if status != 200 {
		t.Fatalf("the call = %d", status)
	}
	s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"/etc/shadow-of-args"}}`, s.headers())
	bad := s.headers()
	bad["Authorization"] = "Bearer sallyport_wrong"
	if status, _ := s.request(t, "GET", "/v1/actions?token=in-the-query", "", bad); status != 401 {
		t.Fatalf("a wrong token = %d, want 401", status)
	}
	s.stop(t)
	requests := map[string]map[string]any{}
	var calls, failed []map[string]any
	for _, m := range logLines(t, s) {
		switch m["msg"] {
		case "request":
			requests[m["request"].(string)] = m
		case "call":
			calls = append(calls, m)
		case "a request was refused":
			failed = append(failed, m)
		}
	}
	if len(requests) != 3 || len(calls) != 2 || len(failed) != 1 {
		t.Fatalf("%d requests, %d calls and %d failed logins are logged, want 3, 2 and 1:\n%s", len(requests), len(calls), len(failed), s.stderr.String())
	}
	for i, call := range calls {
		r := requests[call["request"].(string)]
		if r == nil || r["principal"] != "local" || call["principal"] != "local" || call["tool"] != "read_file" || call["call"] == "" || call["ok"] != (i == 0) {
			t.Errorf("call %v belongs to the request %v, want one of local", call, r)
		}
	}
	if r := requests[failed[0]["request"].(string)]; r == nil || r["status"] != 401.0 || failed[0]["why"] != "no principal has this token" {
		t.Errorf("the failed login is logged as %v by the request %v", failed[0], r)
	}
	for _, secret := range []string{s.token, "sallyport_wrong", "in-the-query", "the content of the file"} {
		if strings.Contains(s.stderr.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	for _, call := range calls {
		if text, _ := json.Marshal(call); strings.Contains(string(text), "shadow-of-args") {
			t.Errorf("a call's line has its arguments: %s", text)
		}
	}
}
