package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/auth"
)

// beats is the folder into which children write that they run.
type beats struct{ dir string }

// stoppedFolder is a folder with a role that runs commands and an MCP server, and
// two principals of it.
func stoppedFolder(t *testing.T, hosts ...string) (dir, text string, b beats) {
	dir, _ = serverFolder(t)
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "out"), 0o777); err != nil {
		t.Fatal(err)
	}
	text = `version: 1
principals:
  reader: {token_sha256: "` + auth.HashToken(tokenOf("reader")) + `", personalities: [ops]}
  other: {token_sha256: "` + auth.HashToken(tokenOf("other")) + `", personalities: [ops]}
mcp_servers: {notes: {command: [python3, ./server.py]}}
personalities:
  ops:
    toolset: ["@terminal"]
    mcp_servers: [notes]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}/out"]}
    safety: {flow: {allow: ["*"]}, network: {allow: ["` + strings.Join(hosts, `", "`) + `"], allow_private_urls: true}}
`
	place(t, dir, configName, text)
	return dir, text, beats{dir}
}

// TestB5_AListenStreamEndsWithItsToken has clients listen by POST while the token
// of one is revoked, that of another rotated and a third one stopped.
func TestB5_AListenStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	dir, _, _ := stoppedFolder(t, "example.com")
	s := serveWatched(t, dir)
	listen := func(token string) (ended chan struct{}) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen",`+
			`"params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range (&service{token: token}).headers("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen") {
			r.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("listening = %v, %v", res, err)
		}
		ended = make(chan struct{})
		go func() {
			defer close(ended)
			defer res.Body.Close()
			_, _ = io.Copy(io.Discard, res.Body)
		}()
		return ended
	}
	other := listen(tokenOf("other"))
	for _, change := range []string{"revoke", "rotate", "stop"} {
		name := "kept-" + change
		token := strings.TrimSpace(tokenText.FindString(runSallyport(t, dir, "principals", "add", name, "--personality", "ops")))
		ended := listen(token)
		runSallyport(t, dir, "principals", change, name)
		<-ended
	}
	select {
	case <-other:
		t.Error("the stream of another principal ended")
	default:
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
}

var tokenText = regexp.MustCompile(`sallyport_[A-Za-z0-9_-]+`)
