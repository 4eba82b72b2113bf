package command

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/auth"
)

// TestActionChildrenEndWithAKilledServer kills the server while a program of an
// action runs.
func TestActionChildrenEndWithAKilledServer(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	bell := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }))
	t.Cleanup(bell.Close)
	host := strings.TrimPrefix(bell.URL, "http://")
	dir := configured(t, `version: 1
state: sqlite:.sallyport/state.db
personalities:
  runner:
    toolset: [linger]
    safety: {network: {allow: ["`+host+`"], allow_private_urls: true}}
principals:
  reader: {token_sha256: "`+auth.HashToken(tokenOf("reader"))+`"}
actions:
  - id: linger
    capabilities: {network: {allowedHosts: ["`+host+`"]}}
    handler: ./linger.py
`)
	place(t, dir, "linger.py", `import os, subprocess, sys, time, urllib.request
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
for name in "no_proxy", "NO_PROXY":  # loopback is the child's own unless it asks the proxy
    os.environ.pop(name, None)
urllib.request.urlopen("http://`+host+`/").read()
time.sleep(600)
`)
	s := serveHTTP(t, dir)
	go func() {
		_, _ = execute(t.Context(), http.DefaultClient, s.url, tokenOf("reader"), "linger", `{"params":{}}`)
	}()
	select {
	case <-arrived:
	case <-time.After(30 * time.Second):
		t.Fatal("the program did not start")
	}
	if running(t, dir) == 0 {
		t.Fatal("the program is not found among the processes")
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.wait(t)
	for end := time.Now().Add(30 * time.Second); running(t, dir) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d processes outlive the server", running(t, dir))
		}
	}
	// The record must show an intent of the call and no outcome.
	var kinds []string
	var id string
	for _, r := range records(t, dir) {
		kinds, id = append(kinds, r.Kind), r.CallID
	}
	if got := strings.Join(kinds, " "); got != "intent" {
		t.Errorf("the record holds %q, want the intent alone", got)
	}
	if out := runSallyport(t, dir, "audit", "show", id); !strings.Contains(out, "outcome unknown") {
		t.Errorf("audit show = %s, want it to say that the outcome is unknown", out)
	}
}

// running counts the processes whose command line names the program in a
// folder.
func running(t *testing.T, dir string) int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range lines {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(filepath.Join(dir, "linger.py"))) {
			n++
		}
	}
	return n
}
