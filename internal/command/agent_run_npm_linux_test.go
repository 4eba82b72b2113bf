package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// agentRun is the first run of a person with a coding agent: a client's file in a
// project that knows nothing of the gate, and a home that is empty.
type agentRun struct {
	t             *testing.T
	home, project string
	// settings are the servers as people write them; pages and remote are servers
	// on loopback.
	settings, pages, remote string
	// steps says how long each step took, as a table.
	steps strings.Builder
}

// agentSettings is a client's file as people have it. The servers come without
// versions. TOKEN stands for a secret.
const agentSettings = `{
  "mcpServers": {
    "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "PROJECT"]},
    "memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
    "playwright": {"command": "npx", "args": ["@playwright/mcp@latest"]},
    "everything": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"], "env": {"API_KEY": "TOKEN"}},
    "remote": {"type": "http", "url": "http://REMOTE/mcp"},
    "thinking": {"command": "docker", "args": ["run", "-i", "--rm", "mcp/sequentialthinking"]}
  }
}
`

const agentToken = "sk-proj-0123456789abcdefghijklmnop"

func newAgentRun(t *testing.T) *agentRun {
	t.Helper()
	needNPX(t)
	needs.Programs(t, "node", "chromium-headless-shell")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { makeRemovable(dir) })
	r := &agentRun{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	for _, folder := range []string{r.home, r.project, filepath.Join(r.project, "notes")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>A local page</title><h1>Hello from loopback</h1>")
	}))
	t.Cleanup(page.Close)
	remote := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "remote", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Name string `json:"name"`
		},
		) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
		})
		return s
	}, nil))
	t.Cleanup(remote.Close)
	r.pages, r.remote = strings.TrimPrefix(page.URL, "http://"), strings.TrimPrefix(remote.URL, "http://")
	r.settings = strings.NewReplacer("PROJECT", r.project, "REMOTE", r.remote, "TOKEN", agentToken).Replace(agentSettings)
	place(t, r.project, ".mcp.json", r.settings)
	place(t, r.project, "notes/today", "buy milk")
	return r
}

// timeStep notes in the table how long a step takes that begins now.
func (r *agentRun) timeStep(format string, args ...any) (done func()) {
	began := time.Now()
	return func() {
		fmt.Fprintf(&r.steps, "%6.1f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
}

// says runs the program in the project. It must succeed and print the texts, on
// either stream, and never the secret.
func (r *agentRun) says(want []string, args ...string) string {
	r.t.Helper()
	cmd := sallyportCommand(r.project, args...)
	cmd.Env = append(os.Environ(), "HOME="+r.home)
	done := r.timeStep("sallyport %s", strings.Join(args, " "))
	out, err := cmd.CombinedOutput()
	done()
	if err != nil || bytes.Contains(out, []byte(agentToken)) {
		r.t.Fatalf("sallyport %q: %v\n%s", args, err, out)
	}
	for _, text := range want {
		if !bytes.Contains(out, []byte(text)) {
			r.t.Errorf("sallyport %q prints no %q:\n%s", args, text, out)
		}
	}
	return string(out)
}

// servers returns the servers that the client starts now.
func (r *agentRun) servers() (entries map[string]struct {
	Command string
	Args    []string
},
) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.project, ".mcp.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	settings := struct{ MCPServers any }{&entries}
	if err := json.Unmarshal(text, &settings); err != nil {
		r.t.Fatalf("%v\n%s", err, text)
	}
	return entries
}

// connect starts the gate as the client's file says, from another folder.
func (r *agentRun) connect() *sdkClient {
	r.t.Helper()
	entry, ok := r.servers()["sallyport"]
	if !ok {
		r.t.Fatal("the client starts no gate")
	}
	// The entry names the program by its path.
	cmd := exec.CommandContext(r.t.Context(), entry.Command, entry.Args...)
	cmd.Dir, cmd.Env = r.t.TempDir(), append(os.Environ(), "HOME="+r.home)
	defer r.timeStep("the client starts the gate")()
	client := mcp.NewClient(&mcp.Implementation{Name: "claude-code", Version: "1"}, &mcp.ClientOptions{
		// The person at the client is asked before what was read may leave.
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		},
	})
	session, err := client.Connect(r.t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return &sdkClient{ClientSession: session}
}

// TestFirstRunWithACodingAgent takes over the servers of a client with one
// command, and uses each of them through the entry that the command wrote, with
// no edit by hand. The server and the page on loopback take one grant each.
func TestFirstRunWithACodingAgent(t *testing.T) {
	t.Parallel()
	r := newAgentRun(t)
	t.Cleanup(func() { t.Logf("how long the steps took:\n%s", r.steps.String()) })
	r.says([]string{
		"servers: 5 ready, 1 left with the client",
		"remote, left: ", "sallyport grant claude-code --private " + r.remote,
		"the image mcp/sequentialthinking is not started",
	}, "import", "claude-code", "--yes")
	r.says([]string{"done"}, "grant", "playwright", "--private", r.pages, "--yes")
	r.says([]string{"done"}, "grant", "claude-code", "--private", r.remote, "--yes")
	r.says([]string{"servers: 1 ready"}, "import", "claude-code", "--yes")
	if left := r.servers(); len(left) != 1 {
		t.Errorf("the client starts %v, want the gate alone", left)
	}
	r.useEveryServer()

	// The same again finds nothing to do. After a rollback, and with other flags, all
	// of it works once more.
	r.says([]string{"nothing to import"}, "import", "claude-code", "--yes")
	for range 2 { // for each import that changed the file
		r.says([]string{".mcp.json: is as it was"}, "import", "--rollback", "claude-code")
	}
	if text, err := os.ReadFile(filepath.Join(r.project, ".mcp.json")); err != nil || string(text) != r.settings {
		t.Errorf("after the rollbacks the client has (%v)\n%s", err, text)
	}
	r.says([]string{"servers: 6 declared already"}, "import", "claude-code", "--yes")
	r.useEveryServer()
	r.says([]string{".mcp.json: is as it was"}, "import", "--rollback", "claude-code")
	r.says([]string{"5 declared already, 1 left with the client", "remote, left: --leave"}, "import", "claude-code", "--yes", "--leave", "remote", "--personality", "other")
	if left := r.servers(); len(left) != 2 {
		t.Errorf("the client starts %v, want the gate and the server that it keeps", left)
	}
	r.browseWithoutProxy()
	if text := r.says(nil, "audit", "verify"); !strings.Contains(text, "good") {
		t.Errorf("the record: %s", text)
	}
}

// expectedDigest finds the digest that lock accept asks for.
var expectedDigest = regexp.MustCompile(`--expect ([0-9a-f]{64})`)

// browseWithoutProxy starts the browser without the proxy settings of its profile. It
// reaches the granted page as well.
func (r *agentRun) browseWithoutProxy() {
	r.t.Helper()
	const option = `, "--proxy-server=http://127.0.0.1:3128"`
	config := configText(r.t, r.project)
	if !strings.Contains(config, option) {
		r.t.Fatalf("the browser gets no proxy settings:\n%s", config)
	}
	place(r.t, r.project, app.ConfigName, strings.Replace(config, option, "", 1))
	accept := sallyportCommand(r.project, "lock", "accept", "playwright")
	accept.Env = append(os.Environ(), "HOME="+r.home)
	shown, _ := accept.CombinedOutput() // there is no terminal to ask at
	digest := expectedDigest.FindSubmatch(shown)
	if digest == nil {
		r.t.Fatalf("lock accept shows no digest:\n%s", shown)
	}
	r.says(nil, "lock", "accept", "playwright", "--expect", string(digest[1]))
	r.says([]string{"A local page"}, "call", "--personality", "claude-code", "mcp__playwright__browser_navigate", `{"url":"http://`+r.pages+`/"}`)
}

// useEveryServer does with each server what it is for.
func (r *agentRun) useEveryServer() {
	r.t.Helper()
	c := r.connect()
	for _, call := range []npmCall{
		{"mcp__filesystem__list_directory", fields{"path": r.project}, "[DIR] notes", true},
		{"mcp__filesystem__read_text_file", fields{"path": r.project + "/notes/today"}, "buy milk", true},
		{"mcp__filesystem__write_file", fields{"path": r.project + "/notes/done", "content": "milk"}, "Successfully wrote", true},
		{"mcp__memory__create_entities", fields{"entities": []fields{{"name": "ann", "entityType": "person", "observations": []string{"likes gates"}}}}, "", true},
		{"mcp__memory__open_nodes", fields{"names": []string{"ann"}}, "likes gates", true},
		{"mcp__playwright__browser_navigate", fields{"url": "http://" + r.pages + "/"}, "A local page", true},
		{"mcp__playwright__browser_take_screenshot", fields{}, "Screenshot of viewport", true},
		{"mcp__playwright__browser_take_screenshot", fields{"filename": "named.png"}, "(named.png)", true},
		{"mcp__everything__echo", fields{"message": "hello"}, "Echo: hello", true},
		{"mcp__thinking__sequentialthinking", fields{"thought": "begin", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}, "thoughtNumber", true},
		{"mcp__remote__greet", fields{"name": "Ann"}, "Hello, Ann", true},
	} {
		done := r.timeStep("%s", call.tool)
		c.calls(r.t, call)
		done()
	}
	done := r.timeStep("the client ends the gate")
	_ = c.Close()
	done()
	for file, want := range map[string]string{"notes/done": "milk", ".mcp-state/memory/memory.jsonl": "likes gates", ".mcp-state/playwright/page-*.png": "\x89PNG", ".mcp-state/playwright/named.png": "\x89PNG"} {
		found, err := filepath.Glob(filepath.Join(r.project, file))
		if err != nil || len(found) == 0 {
			r.t.Errorf("%s is missing: %v", file, err)
			continue
		}
		if text, err := os.ReadFile(found[len(found)-1]); err != nil || !bytes.Contains(text, []byte(want)) {
			r.t.Errorf("%s is %.40q, %v, want %q in it", file, text, err, want)
		}
	}
}
