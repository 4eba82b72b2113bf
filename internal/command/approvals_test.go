package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// lines is a writer that sends each match of a pattern in its text to a
// channel.
type lines struct {
	pattern *regexp.Regexp
	found   chan string

	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	if m := l.pattern.FindSubmatch(l.text.Bytes()); m != nil {
		select {
		case l.found <- string(m[1]):
		default:
		}
	}
	return len(b), nil
}

// closing is a buffer for the output of an environment.
type closing struct{ bytes.Buffer }

func (*closing) Close() error { return nil }

// inFolder returns an environment in a folder with a configuration that holds
// calls of write_file for approval.
func inFolder(t *testing.T, dir string) (*environment, *closing) {
	t.Helper()
	out := &closing{}
	return &environment{
		stdin: io.NopCloser(bytes.NewReader(nil)), stdout: out, Environment: app.Environment{
			Stderr: io.Discard, Dir: dir, Home: dir,
			Lookup: func(string) (string, bool) { return "", false }, Pairs: func() []string { return nil },
			Intervals: app.Intervals{Poll: testPause, Attend: testPause, Places: testPause},
		},
	}, out
}

func heldFolder(t *testing.T, wait string) string {
	t.Helper()
	dir := t.TempDir()
	text := `version: 1
state: sqlite:.sallyport/state.db
personalities:
  writer:
    toolset: ["@file"]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}"]}
    approvals: {require: [write_file], wait: ` + wait + "}\n"
	if err := os.WriteFile(filepath.Join(dir, app.ConfigName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestACallWaitsForADecisionFromElsewhere(t *testing.T) {
	t.Parallel()
	for verb, how := range map[string][]string{"approve": nil, "deny": nil, "approve for always": {"--always", "--yes"}} {
		dir := heldFolder(t, "1h")
		env, out := inFolder(t, dir)
		told := &lines{pattern: regexp.MustCompile(`waits for approval (\w{24})`), found: make(chan string, 1)}
		env.Stderr = told
		code := make(chan int)
		go func() {
			code <- runCommand(context.WithoutCancel(t.Context()), []string{"call", "write_file", `{"path":"a.txt","content":"a"}`}, env)
		}()
		id := <-told.found
		desk, _ := inFolder(t, dir)
		for _, as := range []string{"page:boss", "client:boss", "oidc:boss", "OIDC:boss", "ann and ben"} {
			if got := runCommand(t.Context(), []string{"approvals", strings.Fields(verb)[0], id, "--as", as}, desk); got != exitUsage {
				t.Fatalf("a decision in the name of %s = %d, want %d", as, got, exitUsage)
			}
		}
		if got := runCommand(t.Context(), append([]string{"approvals", strings.Fields(verb)[0], id, "--as", "boss"}, how...), desk); got != exitDone {
			t.Fatalf("approvals %s = %d, want %d", verb, got, exitDone)
		}
		want := map[string]int{"approve": exitDone, "deny": exitFailed, "approve for always": exitDone}[verb]
		if got := <-code; got != want {
			t.Errorf("the call after %s = %d %q, want %d", verb, got, out, want)
		}
		if _, err := os.Stat(filepath.Join(dir, "a.txt")); errors.Is(err, os.ErrNotExist) != (verb == "deny") {
			t.Errorf("the file after %s: %v", verb, err)
		}
	}
}

func TestAnInterruptedWaitKeepsTheRequest(t *testing.T) {
	t.Parallel()
	dir := heldFolder(t, "1h")
	env, _ := inFolder(t, dir)
	told := &lines{pattern: regexp.MustCompile(`waits for approval (\w{24})`), found: make(chan string, 1)}
	env.Stderr = told
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code := make(chan int)
	args := []string{"call", "write_file", `{"path":"a.txt","content":"a"}`}
	go func() { code <- runCommand(ctx, args, env) }()
	id := <-told.found
	cancel()
	if got := <-code; got != exitFailed {
		t.Errorf("the interrupted call = %d, want %d", got, exitFailed)
	}
	again, _ := inFolder(t, dir)
	if got := runCommand(t.Context(), []string{"approvals", "approve", id}, again); got != exitDone {
		t.Fatalf("approvals approve = %d, want %d", got, exitDone)
	}
	if got := runCommand(t.Context(), args, again); got != exitDone {
		t.Errorf("the repeat = %d, want %d", got, exitDone)
	}
}
