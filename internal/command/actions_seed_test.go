package command

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/needs"
)

// agentFolder creates a folder with the configuration of the documents,
// unchanged, and the programs that it names.
func agentFolder(t *testing.T) string {
	t.Helper()
	needsChildren(t)
	needs.Programs(t, "node")
	dir := t.TempDir()
	copyTree(t, dir, filepath.Join("testdata", "actions"))
	return dir
}

// refused runs a call that must be refused and returns what it printed.
func refused(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := sallyportCommand(dir, args...).Output()
	if bad, ok := errors.AsType[*exec.ExitError](err); !ok || bad.ExitCode() != exitFailed {
		t.Errorf("sallyport %v = %v %s, want exit code %d", args, err, out, exitFailed)
	}
	return string(out)
}

func TestActionsOfTheDocumentsLoadUnchangedAndAreDenied(t *testing.T) {
	t.Parallel()
	dir := agentFolder(t)
	out := runSallyport(t, dir, "--config", "agent.json", "check")
	if !strings.Contains(out, "default") {
		t.Errorf("check = %s, want the implicit personality", out)
	}
	for action, test := range map[string]struct{ params, want string }{
		"get-weather":       {`{"location":"Paris"}`, "Permission denied: get-weather requires weather:read\n"},
		"send-notification": {`{"message":"hello"}`, "Permission denied: send-notification requires notify:send\n"},
	} {
		if got := refused(t, dir, "--config", "agent.json", "call", action, test.params); !strings.HasPrefix(got, test.want+"Call ID: ") {
			t.Errorf("call %s = %q, want %q", action, got, test.want)
		}
	}
}

// TestActionsOfTheDocumentsRunForPrincipals adds a second file and leaves the
// first one unchanged.
func TestActionsOfTheDocumentsRunForPrincipals(t *testing.T) {
	t.Parallel()
	dir := agentFolder(t)
	place(t, dir, "ops.yaml", `version: 1
principals:
  reader: {token_sha256: "`+auth.HashToken(tokenOf("reader"))+`", permissions: ["weather:read"]}
  notifier: {token_sha256: "`+auth.HashToken(tokenOf("notifier"))+`", permissions: ["notify:send"]}
`)
	s := serveHTTP(t, dir, "--config", "agent.json", "--config", "ops.yaml")
	tests := []struct {
		principal, action, params string
		status                    int
		want                      string // in the error, or the data
	}{
		{"reader", "get-weather", `{"location":"Paris"}`, 200, `"location":"Paris"`},
		{"reader", "get-weather", `{"location":"Paris"}`, 200, `"principal":"reader"`},
		{"reader", "get-weather", `{}`, 400, "location"},
		{"reader", "send-notification", `{"message":"x"}`, 403, "Permission denied: send-notification requires notify:send"},
		{"notifier", "get-weather", `{"location":"Paris"}`, 403, "Permission denied: get-weather requires weather:read"},
		{"notifier", "send-notification", `{"message":"x","channel":"sms"}`, 200, "sent to sms"},
		{"notifier", "send-notification", `{"message":"x","channel":"pigeon"}`, 400, "/channel"},
		{"notifier", "send-notification", `{"channel":"sms"}`, 400, "message"},
	}
	for _, tt := range tests {
		a := s.action(t, tt.principal, tt.action, tt.params)
		if got := a.Error + string(a.Data); a.Status != tt.status || !strings.Contains(got, tt.want) || a.Success != (tt.status == 200) {
			t.Errorf("%s calls %s %s = %d %s, want %d with %q", tt.principal, tt.action, tt.params, a.Status, got, tt.status, tt.want)
		}
	}
	if status, text := s.request(t, "GET", "/v1/actions", "", s.headers("Content-Type", "", "Authorization", "")); status != 401 {
		t.Errorf("listing without a token = %d %s, want 401", status, text)
	}
	s.stop(t)
}

func TestActionRateLimitOfTheDocuments(t *testing.T) {
	t.Parallel()
	dir, station := weatherFolder(t)
	s := serveHTTP(t, dir)
	// The order follows the steps: a call that is refused before the limit does
	// not count for it.
	if a := s.action(t, "stranger", "get-weather", `{"location":"Paris"}`); a.Status != 403 || a.Error != "Permission denied: get-weather requires weather:read" {
		t.Errorf("without weather:read = %d %s, want 403", a.Status, a.Error)
	}
	if a := s.action(t, "reader", "get-weather", `{"unit":"kelvin","city":"Paris"}`); a.Status != 400 || a.Code != "input_invalid" ||
		!strings.Contains(a.Error, "/unit") || !strings.Contains(a.Error, "location") {
		t.Errorf("wrong arguments = %d %s %s, want 400 with every fault", a.Status, a.Code, a.Error)
	}
	const limit = 100
	for i := range limit {
		a := s.action(t, "reader", "get-weather", `{"location":"Paris `+strconv.Itoa(i)+`"}`)
		var data struct{ Temperature float64 }
		if err := json.Unmarshal(a.Data, &data); a.Status != 200 || err != nil || data.Temperature != 21.5 {
			t.Fatalf("call %d = %d %s %s, want 200 with data.temperature", i+1, a.Status, a.Error, a.Data)
		}
	}
	a := s.action(t, "reader", "get-weather", `{"location":"Paris"}`)
	if a.Status != 429 || !strings.HasPrefix(a.Error, "Rate limit exceeded") || a.Code != "rate_limited" {
		t.Errorf("call %d = %d %s %s, want 429", limit+1, a.Status, a.Code, a.Error)
	}
	if after, err := strconv.Atoi(a.RetryAfter); err != nil || after < 1 || after > 3600 {
		t.Errorf("Retry-After = %q, want whole seconds within the window", a.RetryAfter)
	}
	if a := s.action(t, "second", "get-weather", `{"location":"Oslo","unit":"fahrenheit"}`); a.Status != 200 {
		t.Errorf("another principal = %d %s, want 200", a.Status, a.Error)
	}
	seen := station.seen()
	if want := limit + 1; len(seen) != want {
		t.Errorf("the upstream was asked %d times, want %d", len(seen), want)
	}
	if first, last := seen[0], seen[len(seen)-1]; !strings.Contains(first, "units=celsius") || !strings.Contains(last, "units=fahrenheit") {
		t.Errorf("the upstream was asked %q and %q, want the default and the given unit", first, last)
	}
	s.stop(t)
}

// TestActionRateLimitIsSharedAndSurvives calls a server, then processes beside
// it, then the next server, all as one principal.
func TestActionRateLimitIsSharedAndSurvives(t *testing.T) {
	t.Parallel()
	dir, station := weatherFolder(t)
	const limit, commands = 100, 6
	s := serveHTTP(t, dir)
	for range 50 {
		if a := s.action(t, "reader", "get-weather", `{"location":"Paris"}`); a.Status != 200 {
			t.Fatalf("a call before the restart = %d %s, want 200", a.Status, a.Error)
		}
	}
	s.stop(t)
	s = serveHTTP(t, dir)
	for range 40 {
		if a := s.action(t, "reader", "get-weather", `{"location":"Paris"}`); a.Status != 200 {
			t.Fatalf("a call after the restart = %d %s, want 200", a.Status, a.Error)
		}
	}
	// Ten admissions are left: processes and clients race for them.
	var mu sync.Mutex
	admitted, refusals := 0, 0
	count := func(ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if ok {
			admitted++
		} else {
			refusals++
		}
	}
	var running sync.WaitGroup
	for range commands {
		running.Go(func() {
			out, err := sallyportCommand(dir, "call", "--principal", "reader", "get-weather", `{"location":"Rome"}`).Output()
			if err != nil && !strings.HasPrefix(string(out), "Rate limit exceeded") {
				t.Errorf("call = %v %s, want an answer or the limit", err, out)
			}
			count(err == nil)
		})
		running.Go(func() {
			for range 2 {
				a := s.action(t, "reader", "get-weather", `{"location":"Rome"}`)
				if a.Status != 200 && a.Status != 429 {
					t.Errorf("a call in the race = %d %s, want 200 or 429", a.Status, a.Error)
				}
				count(a.Success)
			}
		})
	}
	running.Wait()
	if admitted != limit-90 || refusals != 3*commands-admitted {
		t.Errorf("in the race %d calls were admitted and %d refused, want %d of %d", admitted, refusals, limit-90, 3*commands)
	}
	if n := len(station.seen()); n != limit {
		t.Errorf("the upstream was asked %d times, want %d", n, limit)
	}
	if out := refused(t, dir, "call", "--principal", "reader", "get-weather", `{"location":"Rome"}`); !strings.HasPrefix(out, "Rate limit exceeded") {
		t.Errorf("call = %q, want the limit", out)
	}
	if out := runSallyport(t, dir, "call", "get-weather", `{"location":"Rome"}`); !strings.Contains(out, "21.5") {
		t.Errorf("call as local = %q, want its own counter", out)
	}
	s.stop(t)
}
