package command

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// A server keeps heads by itself: at its start, while the record grows, and at its end.
func TestServeKeepsHeadsElsewhere(t *testing.T) {
	t.Parallel()
	dir, elsewhere := folder(t), t.TempDir()
	var posts atomic.Int64
	posted := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if posts.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		posted <- string(body)
	}))
	defer hook.Close()
	file, text := filepath.Join(elsewhere, "anchors.jsonl"), configText(t, dir)
	place(t, dir, app.ConfigName, text+fmt.Sprintf("audit: {anchors: [{file: %q}, {webhook: %q}], every: 1s}\n", file, hook.URL+"/hunter2"))
	place(t, dir, "notes.txt", "text")
	runSallyport(t, dir, "call", "read_file", `{"path":"notes.txt"}`)
	s := serveHTTP(t, dir)
	defer func() { _ = s.cmd.Process.Kill() }()
	first := <-posted // the second try, after the first one failed
	if _, body := s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"notes.txt"}}`, s.headers()); !strings.Contains(body, "text") {
		t.Fatalf("the call beside a failing place = %s", body)
	}
	// No tool reaches the file.
	if _, body := s.request(t, "POST", "/v1/actions/write_file/execute", fmt.Sprintf(`{"params":{"path":%q,"content":"x"}}`, file), s.headers()); strings.Contains(body, `"ok":true`) {
		t.Errorf("a tool wrote the file of anchors: %s", body)
	}
	s.stop(t)
	if err := os.WriteFile(filepath.Join(elsewhere, "hook.jsonl"), []byte(first+drain(posted)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"anchors.jsonl", "hook.jsonl"} {
		if out := runSallyport(t, dir, "audit", "verify", "--anchors", filepath.Join(elsewhere, name)); !strings.Contains(out, "anchors are in the record") {
			t.Errorf("%s: %s", name, out)
		}
	}
	// The newest line is the head with which the server ended.
	kept, err := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(kept)), "\n")
	head := strings.TrimSpace(runSallyport(t, dir, "audit", "head"))
	seq, hash, _ := strings.Cut(head, ":")
	if want := fmt.Sprintf(`{"seq":%s,"hash":"%s"`, seq, hash); err != nil || !strings.HasPrefix(lines[len(lines)-1], want) {
		t.Errorf("the last line is %s, want the head %s", lines[len(lines)-1], head)
	}
	if said := s.stderr.String(); !strings.Contains(said, "the head of the record is not anchored") || !strings.Contains(said, "503") || strings.Contains(said, "hunter2") {
		t.Errorf("serve says of the failure: %s", said)
	}
}

// drain returns what is left in a channel.
func drain(from chan string) (all string) {
	for {
		select {
		case text := <-from:
			all += text
		default:
			return all
		}
	}
}

func TestCheckFindsAnchorsWhereToolsWrite(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	place(t, dir, app.ConfigName, configText(t, dir)+"audit: {anchors: [{file: anchors.jsonl}]}\n")
	out, err := sallyportCommand(dir, "check").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "audit.anchors: file: heads of the record are kept in") {
		t.Errorf("check = %v\n%s", err, out)
	}
	// The deny floor keeps it from tools nevertheless.
	place(t, dir, "notes.txt", "text")
	runSallyport(t, dir, "call", "read_file", `{"path":"notes.txt"}`)
	runSallyport(t, dir, "audit", "anchor")
	for _, name := range []string{"anchors.jsonl", "anchors.jsonl.d/1.tsr"} {
		out, err = sallyportCommand(dir, "call", "write_file", `{"path":"`+name+`","content":"x"}`).CombinedOutput()
		if err == nil {
			t.Errorf("a tool wrote %s, which proves the record: %s", name, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "anchors.jsonl")); errors.Is(err, os.ErrNotExist) {
		t.Error("audit anchor did not write to the place of the configuration")
	}
}
