package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// drip is a server whose answers never end. It reports the paths of the clients
// that have disconnected.
type drip struct {
	*httptest.Server
	gone chan string
}

func newDrip(t *testing.T) *drip {
	d := &drip{gone: make(chan string, 10)}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		for r.Context().Err() == nil {
			fmt.Fprintln(w, "drip")
			_ = c.Flush()
			time.Sleep(20 * time.Millisecond)
		}
		d.gone <- r.URL.Path
	}))
	t.Cleanup(func() { d.CloseClientConnections(); d.Close() })
	return d
}

func (d *drip) host() string { return strings.TrimPrefix(d.URL, "http://") }

// beats is the folder to which running children write repeatedly.
type beats struct{ dir string }

func (b beats) path(name string) string { return filepath.Join(b.dir, "out", name) }

// await waits until a child has written something new.
func (b beats) await(t *testing.T, name string) {
	t.Helper()
	first, _ := os.ReadFile(b.path(name))
	for range 3000 {
		if now, err := os.ReadFile(b.path(name)); err == nil && len(now) > 0 && !bytes.Equal(now, first) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not run", name)
}

// still requires that a child no longer writes.
func (b beats) still(t *testing.T, name string) {
	t.Helper()
	for range 5 {
		first, _ := os.ReadFile(b.path(name))
		time.Sleep(200 * time.Millisecond)
		if now, _ := os.ReadFile(b.path(name)); bytes.Equal(now, first) {
			return
		}
	}
	t.Errorf("%s goes on", name)
}

func beat(name string) string {
	return `{"command":"while :; do date +%s%N > out/` + name + `; sleep 0.05; done"}`
}

// stoppedFolder creates a folder with a role that runs commands and an MCP
// server, and two principals with that role.
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
	place(t, dir, app.ConfigName, text)
	return dir, text, beats{dir}
}

// endsIn returns the records of ended runs, as "principal tool: target".
func endsIn(t *testing.T, dir, action string) (list []string) {
	t.Helper()
	for _, r := range records(t, dir) {
		if r.Kind == "change" && r.Change.Action == action {
			list = append(list, r.Principal+" "+r.Tool+": "+r.Change.Target)
		}
	}
	return list
}

// TestA6_WhatAPrincipalRunsEndsWithIt stops and revokes principals from another
// process while their background processes, calls and MCP servers run. Those of
// another principal go on.
func TestA6_WhatAPrincipalRunsEndsWithIt(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash")
	dir, _, b := stoppedFolder(t, "example.com")
	s := serveWatched(t, dir)
	start := func(principal string) (id string) {
		return s.wants(t, tokenOf(principal), "process_start", beat(principal), 200).CallID
	}
	call := func(principal string) (ended chan actionAnswer) {
		ended = make(chan actionAnswer, 1)
		go func() { ended <- s.actionWith(t, tokenOf(principal), "terminal", beat(principal+".call")) }()
		b.await(t, principal+".call")
		return ended
	}
	for _, name := range []string{"reader", "other"} {
		s.wants(t, tokenOf(name), "mcp__notes__count", `{}`, 200)
	}
	id := start("reader")
	start("other")
	ended, others := call("reader"), call("other")
	from := s.told.len()
	runSallyport(t, dir, "principals", "stop", "reader", "--reason", "leaked")
	a := <-ended
	if a.Success || !strings.Contains(a.Error, "was ended") {
		t.Errorf("the call of a principal that was stopped = %+v", a)
	}
	s.told.await(t, from, `what="process bash"`)
	said := s.told.await(t, from, `what="process python3"`)
	if !strings.Contains(said, "leaked") || strings.Contains(said, "principal=other") {
		t.Errorf("the operator is told\n%s\nwant why, and nothing of others", said)
	}
	b.still(t, "reader")
	b.still(t, "reader.call")
	b.await(t, "other")
	b.await(t, "other.call")
	got := strings.Join(endsIn(t, dir, "run.end"), "\n")
	if !strings.Contains(got, "reader process_start: process bash of call "+id) || !strings.Contains(got, "reader mcp__notes__*: process python3 of call ") || strings.Contains(got, "other") {
		t.Errorf("recorded ends =\n%s", got)
	}
	for _, r := range records(t, dir) {
		if r.CallID == a.CallID && r.Kind == "outcome" && r.OK {
			t.Errorf("the outcome of the call that was ended is %+v", r)
		}
	}
	if text := runSallyport(t, dir, "explain", "--call", a.CallID); !strings.Contains(text, "principal reader is stopped since") || !strings.Contains(text, "leaked") {
		t.Errorf("explain --call says\n%s\nwant who is stopped and why", text)
	}
	// After start, the principal works as before.
	runSallyport(t, dir, "principals", "start", "reader")
	s.wants(t, tokenOf("reader"), "mcp__notes__count", `{}`, 200)
	start("reader")
	b.await(t, "reader")
	// A tool is stopped for every principal, and the processes that it left
	// running end.
	runSallyport(t, dir, "principals", "stop", "--tool", "process_start")
	b.still(t, "reader")
	b.still(t, "other")
	b.await(t, "other.call")
	runSallyport(t, dir, "principals", "stop", "--tool", "terminal")
	if a := <-others; a.Success {
		t.Errorf("a call of a tool that was stopped = %+v", a)
	}
	s.wants(t, tokenOf("other"), "mcp__notes__count", `{}`, 200)
	// The same holds for a server, with its processes, and for everything.
	from = s.told.len()
	runSallyport(t, dir, "principals", "stop", "--server", "notes")
	s.told.await(t, from, "principal=reader")
	s.told.await(t, from, "principal=other")
	s.wants(t, tokenOf("other"), "mcp__notes__count", `{}`, 404)
	runSallyport(t, dir, "principals", "start", "--server", "notes")
	s.wants(t, tokenOf("other"), "mcp__notes__count", `{}`, 200)
	runSallyport(t, dir, "principals", "start", "--tool", "terminal")
	others = call("other")
	runSallyport(t, dir, "principals", "stop", "--everything")
	if a := <-others; a.Success {
		t.Errorf("a call while everything is stopped = %+v", a)
	}
	s.wants(t, tokenOf("reader"), "mcp__notes__count", `{}`, 403)
	runSallyport(t, dir, "principals", "start", "--everything")
	s.wants(t, tokenOf("reader"), "mcp__notes__count", `{}`, 200)
	s.stop(t)
}

// TestA6_ACommandsChildEndsWithItsPrincipal revokes a principal while a call at
// the command line runs in its name.
func TestA6_ACommandsChildEndsWithItsPrincipal(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash")
	dir, _, b := stoppedFolder(t, "example.com")
	for _, change := range [][]string{{"stop", "kept"}, {"rotate", "kept"}, {"revoke", "kept"}} {
		if change[0] == "stop" {
			runSallyport(t, dir, "principals", "add", "kept", "--personality", "ops")
		}
		cmd := sallyportCommand(dir, "call", "--principal", "kept", "--personality", "ops", "terminal", beat("kept"))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		b.await(t, "kept")
		runSallyport(t, dir, append([]string{"principals"}, change...)...)
		err := cmd.Wait()
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 1 || !strings.Contains(out.String(), "was ended") {
			t.Errorf("after %v: %v\n%s", change, err, out.Bytes())
		}
		b.still(t, "kept")
		if change[0] == "stop" {
			runSallyport(t, dir, "principals", "start", "kept")
		}
	}
}

// TestB5_AListenStreamEndsWithItsToken lets clients listen by POST. One token
// is then revoked, one is rotated, and one principal is stopped.
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

// TestA6_ACommandHeedsAChangedConfiguration first makes an unrelated change.
// Then it removes a folder while a call at the command line writes there.
func TestA6_ACommandHeedsAChangedConfiguration(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash")
	dir, text, b := stoppedFolder(t, "example.com")
	cmd, said := sallyportCommand(dir, "call", "--principal", "reader", "terminal", beat("call")), newTold()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.await(t, "call")
	place(t, dir, app.ConfigName, text+"nonsense: true\n")
	said.await(t, 0, "is not in force for what runs")
	b.await(t, "call")
	place(t, dir, app.ConfigName, text+"    description: Another text.\n")
	time.Sleep(4 * testPause)
	b.await(t, "call")
	place(t, dir, app.ConfigName, strings.Replace(text, `write: ["${workspace}/out"]`, `write: []`, 1))
	if err := cmd.Wait(); err == nil {
		t.Error("the call of a folder that was taken away succeeded")
	}
	said.await(t, 0, "The call was ended")
	b.still(t, "call")
}

// TestA6_NoNameKeepsACallFromAReview takes a folder away from calls whose role
// or tool has a name that the gate uses for runs of its own.
func TestA6_NoNameKeepsACallFromAReview(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash")
	dir, text, b := stoppedFolder(t, "example.com")
	text = strings.ReplaceAll(text, "ops", "packages")
	text = strings.Replace(text, `toolset: ["@terminal"]`, `toolset: [terminal, discover-files]`, 1) + `actions:
  - id: discover-files
    description: Writes.
    handler: ./act.sh
    capabilities: {fs_reach: {read: ["${workspace}"], write: ["${workspace}/out"]}}
`
	place(t, dir, "act.sh", "while :; do echo x >> out/action; sleep 0.05; done\n")
	place(t, dir, app.ConfigName, text)
	for name, args := range map[string][]string{"call": {"terminal", beat("call")}, "action": {"discover-files", "{}"}} {
		cmd, said := sallyportCommand(dir, append([]string{"call", "--principal", "reader"}, args...)...), newTold()
		cmd.Stdout, cmd.Stderr = said, said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill() }()
		b.await(t, name)
		place(t, dir, app.ConfigName, strings.Replace(text, `write: ["${workspace}/out"]}
    safety`, "write: []}\n    safety", 1))
		said.await(t, 0, "The call was ended")
		_ = cmd.Wait()
		b.still(t, name)
		place(t, dir, app.ConfigName, text)
	}
}

// TestA6_AConfigurationThatTakesAwayNarrowsWhatRuns removes a host, then a
// folder, then a server from what runs. An unrelated change affects nothing.
func TestA6_AConfigurationThatTakesAwayNarrowsWhatRuns(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash", "curl")
	one, two := newDrip(t), newDrip(t)
	dir, text, b := stoppedFolder(t, one.host(), two.host())
	s := serveWatched(t, dir)
	reader := tokenOf("reader")
	s.wants(t, reader, "mcp__notes__count", `{}`, 200)
	fetch := func(d *drip, name string) string {
		return `{"command":"curl -sN --noproxy '' ` + d.URL + "/" + name + ` > out/` + name + `"}`
	}
	s.wants(t, reader, "process_start", fetch(one, "one"), 200)
	s.wants(t, reader, "process_start", fetch(two, "two"), 200)
	s.wants(t, reader, "process_start", beat("beat"), 200)
	b.await(t, "one")
	b.await(t, "two")
	b.await(t, "beat")

	// This change affects nothing that runs.
	s.change(t, dir, text+"    description: Another text.\n", inForce)
	b.await(t, "one")
	b.await(t, "two")
	b.await(t, "beat")
	if got := endsIn(t, dir, "run.end"); len(got) != 0 {
		t.Errorf("a change of a description ended %q", got)
	}

	// When a host is removed, the open connections to it are cut and everything
	// else goes on.
	fewer := strings.Replace(text, `"`+one.host()+`", `, "", 1)
	s.change(t, dir, fewer, inForce)
	if path := <-one.gone; path != "/one" {
		t.Errorf("cut %s, want the tunnel to the host that is gone", path)
	}
	b.still(t, "one")
	b.await(t, "two")
	b.await(t, "beat")
	if got := endsIn(t, dir, "run.narrow"); len(got) < 2 {
		t.Errorf("recorded as narrowed: %q, want each process", got)
	}

	// When a folder is removed, the process ends, because a running process
	// cannot lose a folder.
	less := strings.Replace(fewer, `write: ["${workspace}/out"]`, `write: []`, 1)
	s.change(t, dir, less, inForce)
	b.still(t, "beat")
	if path := <-two.gone; path != "/two" {
		t.Errorf("ended %s, want the process that wrote there", path)
	}
	if got := strings.Join(endsIn(t, dir, "run.end"), "\n"); !strings.Contains(got, "reader process_start: process bash of call ") || strings.Contains(got, "mcp__notes__") {
		t.Errorf("recorded ends =\n%s", got)
	}

	// When a server is removed, its process ends.
	s.wants(t, reader, "mcp__notes__count", `{}`, 200)
	from := s.told.len()
	place(t, dir, app.ConfigName, strings.Replace(less, "mcp_servers: [notes]", "mcp_servers: []", 1))
	s.told.await(t, from, `what="process python3"`)
	s.stop(t)
}
