package command

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/app"
)

// sharedFolder creates a folder with a workspace, an outside folder with a
// secret, and a configuration in which one role writes the workspace and others
// read a part of it.
func sharedFolder(t *testing.T, roles string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"ws/data/s": `"fine"`, "outside/s": `"SECRET"`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	place(t, dir, app.ConfigName, `version: 1
workspace: ws
state: sqlite:.sallyport/state.db
principals: {local: {permissions: ["file:read"]}}
actions:
  - id: show
    description: Shows a file of the data folder.
    parameters: {type: object, properties: {}}
    capabilities:
      fs_reach: {read: ["${workspace}/data"], write: ["${workspace}/data"]}
      process: {allowedBinaries: [cat]}
    handler: {exec: {command: [cat, `+filepath.Join(dir, "ws/data/s")+`]}}
personalities:
`+roles)
	return dir
}

const (
	writerRole = `  writer:
    toolset: [terminal, read_file, write_file, show]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}"]}
    safety: {process: {allow: ["*"]}}
`
	readerRole = `  reader:
    toolset: [show, terminal, read_file, write_file]
    fs_reach: {read: ["${workspace}/data"], write: ["${workspace}/data"]}
    safety: {process: {allow: ["*"]}}
`
)

// say runs a command of the binary and returns all its output.
func say(dir string, args ...string) string {
	out, _ := sallyportCommand(dir, args...).CombinedOutput()
	return string(out)
}

// theft tries every way in which the second role can reach the data folder from
// the command line, and returns the answers.
func theft(dir string) map[string]string {
	secret := filepath.Join(dir, "ws/data/s")
	return map[string]string{
		"read":     say(dir, "call", "read_file", `{"path":"data/s"}`, "--personality", "reader"),
		"write":    say(dir, "call", "write_file", `{"path":"data/planted","content":"x"}`, "--personality", "reader"),
		"terminal": say(dir, "call", "terminal", `{"command":"cat `+secret+`; echo x >`+filepath.Dir(secret)+`/planted2"}`, "--personality", "reader"),
		"action":   say(dir, "call", "show", `{}`, "--personality", "reader"),
	}
}

func wantNothingStolen(t *testing.T, when, dir string, answers map[string]string) {
	t.Helper()
	for how, answer := range answers {
		if strings.Contains(answer, "SECRET") {
			t.Errorf("%s: %s reads outside: %s", when, how, answer)
		}
	}
	for _, name := range []string{"planted", "planted2"} {
		if _, err := os.Lstat(filepath.Join(dir, "outside", name)); err == nil {
			t.Errorf("%s: something was written outside", when)
		}
	}
}

// withheldHere is the message of every surface about the data folder.
const withheldHere = "passes the symbolic link"

// TestA1_AFolderBecomesALinkForTheNextProcess lets a child of one role replace
// a folder by a link. Other roles have a grant for the name of that folder. The
// test asks every later process, and one that is already running.
func TestA1_AFolderBecomesALinkForTheNextProcess(t *testing.T) {
	t.Parallel()
	dir := sharedFolder(t, writerRole+readerRole)
	s := serveHTTP(t, dir, "--personality", "writer")
	if out := say(dir, "call", "show", "{}", "--personality", "reader"); !strings.Contains(out, "fine") {
		t.Fatalf("before the attack the action says %q", out)
	}
	over := func(role, tool, args string) (code int, body string) {
		text, err := json.Marshal(map[string]any{"params": json.RawMessage(args), "personality": role})
		if err != nil {
			t.Fatal(err)
		}
		return s.request(t, http.MethodPost, "/v1/actions/"+tool+"/execute", string(text), s.headers())
	}
	attack := `{"command":"mv data data2; ln -s ` + filepath.Join(dir, "outside") + ` data"}`
	if out := say(dir, "call", "terminal", attack, "--personality", "writer"); !strings.Contains(out, "exit code: 0") {
		t.Fatalf("the attack did not run: %s", out)
	}
	// This role uses these tools for the first time in a running server.
	wantServed := func(when string) {
		t.Helper()
		for tool, args := range map[string]string{
			"read_file": `{"path":"data/s"}`, "write_file": `{"path":"data/planted","content":"x"}`, "show": `{}`,
			"terminal": `{"command":"cat ` + filepath.Join(dir, "ws/data/s") + `"}`,
		} {
			if _, body := over("reader", tool, args); strings.Contains(body, "SECRET") {
				t.Errorf("%s: %s over HTTP reads outside: %s", when, tool, body)
			}
		}
	}
	wantServed("first use")
	wantNothingStolen(t, "next command", dir, theft(dir))

	why := say(dir, "explain", "read_file", "--path", "data/s", "--personality", "reader")
	checked := say(dir, "check")
	for where, text := range map[string]string{"explain": why, "check": checked} {
		if !strings.Contains(text, withheldHere) || !strings.Contains(text, "where personality writer may write") || !strings.Contains(text, "an agent may have made it") {
			t.Errorf("%s does not say what is withheld and why:\n%s", where, text)
		}
	}

	// A reload resolves every path again.
	text, err := os.ReadFile(filepath.Join(dir, app.ConfigName))
	if err != nil {
		t.Fatal(err)
	}
	place(t, dir, app.ConfigName, strings.Replace(string(text), "Shows a file", "Shows one file", 1))
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) && !strings.Contains(say(dir, "audit", "tail"), "reload") {
		time.Sleep(100 * time.Millisecond)
	}
	wantServed("reload")
	s.stop(t)
	s = serveHTTP(t, dir, "--personality", "writer", "--strict")
	wantServed("restart")
	s.stop(t)
	wantNothingStolen(t, "restart", dir, theft(dir))

	// As a link inside the content it keeps working where it leads to a granted
	// path.
	if err := os.Remove(filepath.Join(dir, "ws/data")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("data2", filepath.Join(dir, "ws/data")); err != nil {
		t.Fatal(err)
	}
	if out := say(dir, "call", "read_file", `{"path":"data/s"}`, "--personality", "writer"); !strings.Contains(out, "fine") {
		t.Errorf("the link in the workspace of who may read all of it says %q", out)
	}
	// A plain folder that replaces the link is used at once.
	if err := os.Remove(filepath.Join(dir, "ws/data")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "ws/data2"), filepath.Join(dir, "ws/data")); err != nil {
		t.Fatal(err)
	}
	for how, out := range map[string]string{
		"action": say(dir, "call", "show", "{}", "--personality", "reader"), "read": say(dir, "call", "read_file", `{"path":"data/s"}`, "--personality", "reader"),
	} {
		if !strings.Contains(out, "fine") {
			t.Errorf("with a folder in the place, %s says %q", how, out)
		}
	}
}

// TestA1_ANarrowerConfigurationRemembersWhereToolsCouldWrite makes a link while
// tools may write the workspace, removes the role that writes, and starts
// again.
func TestA1_ANarrowerConfigurationRemembersWhereToolsCouldWrite(t *testing.T) {
	t.Parallel()
	dir := sharedFolder(t, writerRole+readerRole)
	text, err := os.ReadFile(filepath.Join(dir, app.ConfigName))
	if err != nil {
		t.Fatal(err)
	}
	attack := `{"command":"mv data data2; ln -s ` + filepath.Join(dir, "outside") + ` data"}`
	if out := say(dir, "call", "terminal", attack, "--personality", "writer"); !strings.Contains(out, "exit code: 0") {
		t.Fatalf("the attack did not run: %s", out)
	}
	// The workspace is another one now: neither a role nor the workspace
	// contains the link.
	narrow := strings.Replace(string(text), writerRole, "", 1)
	narrow = strings.Replace(narrow, "workspace: ws\n", "workspace: other\n", 1)
	narrow = strings.ReplaceAll(narrow, "${workspace}/data", filepath.Join(dir, "ws/data"))
	if err := os.Mkdir(filepath.Join(dir, "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	place(t, dir, app.ConfigName, narrow)
	answers := theft(dir)
	answers["absolute"] = say(dir, "call", "read_file", `{"path":"`+filepath.Join(dir, "ws/data/s")+`"}`, "--personality", "reader")
	wantNothingStolen(t, "narrowed", dir, answers)
	if out := say(dir, "explain", "read_file", "--personality", "reader"); !strings.Contains(out, "could write until") || !strings.Contains(out, "sallyport reach forget "+filepath.Join(dir, "ws")) {
		t.Errorf("explain does not say until when the place could be written:\n%s", out)
	}
	config := filepath.Join(dir, app.ConfigName)
	if out := say(t.TempDir(), "explain", "read_file", "--personality", "reader", "--config", config); !strings.Contains(out, "sallyport reach forget "+filepath.Join(dir, "ws")+" --config "+config) {
		t.Errorf("from another folder explain does not name the configuration:\n%s", out)
	}
	if out := say(dir, "reach", "forget", filepath.Join(dir, "ws")); !strings.Contains(out, "forgotten") {
		t.Errorf("reach forget says %q", out)
	}
	if out := say(dir, "explain", "read_file", "--personality", "reader"); strings.Contains(out, "could write until") {
		t.Errorf("after reach forget explain says\n%s", out)
	}
}

// TestA2_ALinkOfTheWorkspaceIsNoGrant has a link in the workspace from the
// start, and points it elsewhere while a server runs.
func TestA2_ALinkOfTheWorkspaceIsNoGrant(t *testing.T) {
	t.Parallel()
	dir := sharedFolder(t, writerRole+readerRole)
	ws := filepath.Join(dir, "ws")
	if err := os.Rename(filepath.Join(ws, "data"), filepath.Join(ws, "store")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("store", filepath.Join(ws, "data")); err != nil {
		t.Fatal(err)
	}
	s := serveHTTP(t, dir, "--personality", "reader")
	read := func() string {
		_, body := s.request(t, http.MethodPost, "/v1/actions/read_file/execute", `{"params":{"path":"data/s"},"personality":"reader"}`, s.headers())
		return body
	}
	if out := read(); !strings.Contains(out, "PATH_NOT_REACHABLE") {
		t.Errorf("a link in the workspace is granted from the start: %s", out)
	}
	if out := say(dir, "explain", "read_file", "--personality", "reader"); !strings.Contains(out, "grant the folder itself in its place") {
		t.Errorf("explain brings no fix:\n%s", out)
	}
	if out := say(dir, "call", "read_file", `{"path":"data/s"}`, "--personality", "writer"); !strings.Contains(out, "fine") {
		t.Errorf("who may read the whole workspace gets %q through the link", out)
	}
	if out := say(dir, "call", "terminal", `{"command":"ln -sfn `+filepath.Join(dir, "outside")+` data"}`, "--personality", "writer"); !strings.Contains(out, "exit code: 0") {
		t.Fatalf("the attack did not run: %s", out)
	}
	if out := read(); strings.Contains(out, "SECRET") {
		t.Errorf("a link that was pointed elsewhere is followed: %s", out)
	}
	wantNothingStolen(t, "pointed elsewhere", dir, theft(dir))
	s.stop(t)
}

// TestA1_TheOperatorsOwnLinksAreFollowed reaches the workspace through a link
// that lies outside of what tools may write.
func TestA1_TheOperatorsOwnLinksAreFollowed(t *testing.T) {
	t.Parallel()
	dir := sharedFolder(t, writerRole+readerRole)
	if err := os.Rename(filepath.Join(dir, "ws"), filepath.Join(dir, "disk")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("disk", filepath.Join(dir, "ws")); err != nil {
		t.Fatal(err)
	}
	for how, out := range theft(dir) {
		if how != "write" && !strings.Contains(out, "fine") {
			t.Errorf("%s behind a link of the operator says %q", how, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "disk/data/planted")); err != nil {
		t.Errorf("a file was not written behind a link of the operator: %v", err)
	}
	if out := say(dir, "explain", "read_file", "--personality", "reader"); !strings.Contains(out, filepath.Join(dir, "ws/data")+" -> "+filepath.Join(dir, "disk/data")) {
		t.Errorf("explain does not say where the name leads:\n%s", out)
	}
}
