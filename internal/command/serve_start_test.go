package command

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
)

// TestServeKeepsItsTokenWhenThePortIsTaken starts where another program
// listens. A token that this start created would never be shown, and a token
// that it replaced would lock the clients out.
func TestServeKeepsItsTokenWhenThePortIsTaken(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	refused := func(flags ...string) {
		t.Helper()
		cmd := sallyportCommand(dir, append([]string{"serve", "--listen", taken.Addr().String()}, flags...)...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || strings.Contains(string(out), "sallyport_") {
			t.Fatalf("serve where another listens = %v %s, want a refusal without a token", err, out)
		}
		port := taken.Addr().(*net.TCPAddr).Port
		if text := string(out); strings.Contains(text, "--help") || !strings.Contains(text, fmt.Sprintf("such as --listen 127.0.0.1:%d", port+1)) {
			t.Errorf("serve where another listens says\n%s\nwant another address, and no help for a command line that is right", text)
		}
	}
	refused()
	first := serveHTTP(t, dir)
	if first.token == "" {
		t.Fatalf("the first start that succeeds prints no token:\n%s", first.banner)
	}
	first.stop(t)
	refused("--new-token")
	again := serveHTTP(t, dir)
	if !strings.Contains(again.banner, `"Bearer <token>"`) {
		t.Errorf("the line for a client is not what a person pastes:\n%s", again.banner)
	}
	again.token = first.token
	if status, _ := again.request(t, "POST", "/mcp", initialize, again.headers()); status != 200 {
		t.Errorf("the token after a start that failed: status %d, want 200", status)
	}
	again.stop(t)
}

// TestServeKeepsItsTokenWhenTheProviderIsGone starts while the provider cannot
// be reached, so that no token can be checked. The first start that serves
// shows the first token.
func TestServeKeepsItsTokenWhenTheProviderIsGone(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	text := configText(t, dir)
	place(t, dir, app.ConfigName, text+"security: {oidc: {issuer: \"http://127.0.0.1:9\", audience: a, permissions_claim: p}}\n")
	cmd := sallyportCommand(dir, "serve", "--listen", "127.0.0.1:0")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "cannot be asked for its keys") {
		t.Fatalf("serve without its provider = %v %s, want a refusal", err, out)
	}
	place(t, dir, app.ConfigName, text)
	s := serveHTTP(t, dir)
	if s.token == "" {
		t.Errorf("the first start that serves prints no token:\n%s", s.banner)
	}
	s.stop(t)
}

// TestServeAnnouncesItselfAsJSON checks the output for a program that starts
// the server.
func TestServeAnnouncesItselfAsJSON(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	cmd := sallyportCommand(dir, "serve", "--json", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var said report.Announcement
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(said.URL, "http://127.0.0.1:") || said.Token == "" || said.Personality == "" || len(said.Enforced) == 0 {
		t.Errorf("serve --json = %+v, want address, token, personality and what is enforced", said)
	}
}

// TestServeNamesWhatTheRoleCanTry starts with a role that has read_file, and with one
// that has not.
func TestServeNamesWhatTheRoleCanTry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, roles, want, never string }{
		{"reader", "{default: {tools: [read_file], read: [\"${workspace}\"]}}", "call read_file '{\"path\":\"README.md\"", "sallyport tools "},
		{"another reader", "{default: {tools: []}, ops: {tools: [read_file], read: [\"${workspace}\"]}}", "--personality ops   # allowed", "sallyport tools "},
		{"no tool", "{default: {}, ops: {tools: []}}", "tools --personality ops   # what the role ops has", "call read_file"},
		{"no folder", "{ops: {tools: [read_file]}}", "tools   # what the role ops has", "call read_file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			place(t, dir, "README.md", "# Read me\n")
			place(t, dir, app.ConfigName, "version: 2\npersonalities: "+tt.roles+"\n")
			args := []string{}
			if strings.Contains(tt.roles, "ops") {
				args = append(args, "--personality", "ops")
			}
			s := serveHTTP(t, dir, args...)
			if !strings.Contains(s.banner, tt.want) || strings.Contains(s.banner, tt.never) {
				t.Errorf("serve says\n%s\nwant %q and never %q", s.banner, tt.want, tt.never)
			}
			s.stop(t)
		})
	}
}
