package command

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/app"
)

// importAt runs an import of Claude Code in this process, at a terminal where a person
// types the answers.
func importAt(t *testing.T, dir, answers string, args ...string) (code int, said string) {
	t.Helper()
	var out bytes.Buffer
	env := &environment{
		stdin: io.NopCloser(strings.NewReader(answers)), stdout: nopCloser{&out}, terminal: true, Environment: app.Environment{
			Stderr: &out, Dir: dir, Home: filepath.Join(dir, "home"),
			Lookup: func(string) (string, bool) { return "", false }, Pairs: func() []string { return nil },
		},
	}
	code = runCommand(t.Context(), append([]string{"import", "claude-code"}, args...), env)
	return code, out.String()
}

// TestImportAsksOnceForEachServer answers the questions of an import.
func TestImportAsksOnceForEachServer(t *testing.T) {
	t.Parallel()
	const question = "with these grants?"
	for _, tt := range []struct {
		name, answers string
		asked, code   int
		taken, left   []string
	}{
		{"yes and no", "y\nn\n", 2, 0, []string{"one"}, []string{"two"}},
		{"all from here on", "a\n", 1, 0, []string{"one", "two"}, nil},
		{"an answer that is none", "perhaps\ny\n", 2, 0, []string{"two"}, []string{"one"}},
		{"quit", "y\nq\n", 2, 1, nil, []string{"one", "two"}},
		{"the end of the input", "y\n", 2, 1, nil, []string{"one", "two"}},
		{"no to all", "n\nn\n", 2, 0, nil, []string{"one", "two"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := importFolder(t)
			python := `{"command": "/usr/bin/python3", "args": ["` + dir + `/server.py"]}`
			place(t, dir, ".mcp.json", `{"mcpServers": {"one": `+python+`, "two": `+python+`, "odd": {"command": "docker", "args": ["run", "example.com/unknown"]}}}`)
			code, said := importAt(t, dir, tt.answers)
			// Any of them may be the one that starts when all are known.
			if len(tt.taken) > 0 && !strings.Contains(said, "/"+strconv.Itoa(len(tt.taken))+"] starting ") {
				t.Errorf("the terminal shows no progress:\n%q", said)
			}
			if code != tt.code || strings.Count(said, question) != tt.asked {
				t.Errorf("exit %d with %d questions, want %d with %d:\n%s", code, strings.Count(said, question), tt.code, tt.asked, said)
			}
			if !strings.Contains(said, "  reads "+dir) || !strings.Contains(said, "  starts python3 "+dir+"/server.py") {
				t.Errorf("a question does not show what is granted:\n%s", said)
			}
			settings, err := os.ReadFile(filepath.Join(dir, ".mcp.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, server := range append(tt.left, "odd") {
				if !strings.Contains(string(settings), `"`+server+`"`) {
					t.Errorf("the client lost %s:\n%s", server, settings)
				}
			}
			for _, server := range tt.taken {
				if strings.Contains(string(settings), `"`+server+`"`) {
					t.Errorf("the client still starts %s:\n%s", server, settings)
				}
			}
			if _, err := os.Lstat(filepath.Join(dir, app.ConfigName)); (err == nil) != (len(tt.taken) > 0) {
				t.Errorf("the configuration: %v", err)
			}
		})
	}
}

// TestImportAsksBeforeASecretGoesToAHostOfAProfile: the client's file does not name the
// host, so that the answer for all servers does not count for it, nor --yes.
func TestImportAsksBeforeASecretGoesToAHostOfAProfile(t *testing.T) {
	t.Parallel()
	dir := importFolder(t)
	place(t, dir, ".mcp.json", `{"mcpServers": {"one": {"command": "/usr/bin/python3", "args": ["`+dir+`/server.py"]},
		"brave": {"command": "npx", "args": ["-y", "@brave/brave-search-mcp-server@2.1.4"], "env": {"BRAVE_API_KEY": "BSA0123456789abcdefghij"}}}}`)
	const note = "note: its secret would go to api.search.brave.com, which your file does not name"
	code, said := importAt(t, dir, "a\nq\n")
	if code != 1 || !strings.Contains(said, "secret BRAVE_API_KEY, sent to api.search.brave.com") || !strings.Contains(said, note) {
		t.Errorf("exit %d:\n%s", code, said)
	}
	code, said = importAt(t, dir, "a\nn\n")
	if code != 0 || !strings.Contains(said, "servers: 1 ready, 1 left with the client") || !strings.Contains(said, "brave, left: you said no") {
		t.Errorf("after a no: exit %d:\n%s", code, said)
	}
	code, said = importAt(t, dir, "", "--yes")
	if code != 0 || strings.Contains(said, note) || !strings.Contains(said, "--host brave=api.search.brave.com") {
		t.Errorf("with --yes: exit %d:\n%s", code, said)
	}
}

// TestTheAdviceForAPrivateAddressWorks follows what import says of a client whose only
// server is at a private address.
func TestTheAdviceForAPrivateAddressWorks(t *testing.T) {
	t.Parallel()
	far := mcp.NewServer(&mcp.Implementation{Name: "far"}, nil)
	mcp.AddTool(far, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello from far"}}}, nil, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return far }, nil))
	t.Cleanup(server.Close)
	dir := importFolder(t)
	place(t, dir, ".mcp.json", `{"mcpServers": {"far": {"type": "http", "url": "`+server.URL+`/mcp"}, "odd": {"command": "docker", "args": ["run", "example.com/unknown"]}}}`)
	_, said := importAt(t, dir, "", "--yes")
	_, advice, ok := strings.Cut(said, "nothing else makes the role claude-code: ")
	advice, _, _ = strings.Cut(advice, "\n")
	steps := strings.Split(advice, ", then ")
	if !ok || len(steps) != 3 || !strings.Contains(steps[0], "--leave odd") {
		t.Fatalf("the advice is %q in\n%s", steps, said)
	}
	for _, step := range append(steps, "sallyport call mcp__far__greet {} --personality claude-code") {
		args := strings.Fields(step)[1:]
		if args[0] == "grant" {
			args = append(args, "--yes")
		}
		out, err := sallyportCommand(dir, args...).CombinedOutput()
		if said = string(out); err != nil {
			t.Fatalf("%s: %v\n%s", step, err, out)
		}
	}
	if !strings.Contains(said, "hello from far") {
		t.Errorf("the call answers %s", said)
	}
}

// TestImportGrantsNothingFurther has what an import never grants, neither with --yes nor
// by the answers to its questions: a private address, a folder to write outside of the
// workspace, and a secret for a host that neither the client's file nor a profile names.
// Where a profile alone names it, --yes does not grant it, and a question is about it.
func TestImportGrantsNothingFurther(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for _, tt := range []struct{ name, server, advice string }{
		{"a private address", `{"url": "http://127.0.0.1:1/mcp"}`, "sallyport grant claude-code --private 127.0.0.1:1"},
		{"a private name", `{"url": "http://localhost:1/mcp"}`, "sallyport grant claude-code --private localhost:1"},
		{"a private address in an argument", `{"command": "/usr/bin/python3", "args": ["DIR/node_modules/@executeautomation/database-server/server.py", "http://10.1.2.3:8080/"]}`, ""},
		{"a private address in a variable", `{"command": "/usr/bin/python3", "args": ["DIR/node_modules/tavily-mcp/server.py"], "env": {"TAVILY_URL": "http://192.168.1.1/"}}`, ""},
		{"a folder outside", `{"command": "/usr/bin/python3", "args": ["DIR/node_modules/obsidian-mcp/server.py", "` + outside + `"]}`, "--write " + outside},
		{"a secret of a known server", `{"command": "/usr/bin/python3", "args": ["DIR/node_modules/tavily-mcp/server.py"], "env": {"TAVILY_API_KEY": "` + secret + `"}}`, "--host one=api.tavily.com"},
		{"a secret of an unknown server", `{"command": "/usr/bin/python3", "args": ["DIR/server.py"], "env": {"KEY": "` + secret + `"}}`, "--host one=HOST"},
		{"a secret of an image", `{"command": "docker", "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN=` + secret + `", "ghcr.io/github/github-mcp-server"]}`, "--host one=api.githubcopilot.com"},
	} {
		for _, way := range []string{"--yes", "a\n"} {
			t.Run(tt.name+" "+strings.TrimSpace(way), func(t *testing.T) {
				t.Parallel()
				dir := importFolder(t)
				script, err := os.ReadFile(filepath.Join(dir, "server.py"))
				if err != nil {
					t.Fatal(err)
				}
				for _, pkg := range []string{"@executeautomation/database-server", "tavily-mcp", "obsidian-mcp"} {
					folder := filepath.Join(dir, "node_modules", pkg)
					if err := os.MkdirAll(folder, 0o755); err != nil {
						t.Fatal(err)
					}
					place(t, folder, "server.py", string(script))
				}
				place(t, dir, ".mcp.json", strings.ReplaceAll(`{"mcpServers": {"one": `+tt.server+`}}`, "DIR", dir))
				args := []string{"--yes"}
				if way != "--yes" {
					args = nil
				}
				answer, advice := way, tt.advice
				if args == nil && strings.HasPrefix(tt.advice, "--host one=api.") {
					answer, advice = "n\n", "note: its secret would go to "+strings.TrimPrefix(tt.advice, "--host one=")
				}
				code, said := importAt(t, dir, answer, args...)
				if code != 0 || !strings.Contains(said, advice) || strings.Contains(said, secret) {
					t.Errorf("exit %d, want 0 and %q:\n%s", code, advice, said)
				}
				config, err := os.ReadFile(filepath.Join(dir, app.ConfigName))
				if err != nil {
					return // nothing was taken over
				}
				// The preset has comments about private addresses.
				_, added, _ := strings.Cut(string(config), "\nmcp_servers:\n")
				_, role, _ := strings.Cut(string(config), "\n  claude-code:\n")
				role, _, _ = strings.Cut(role, "\n\n")
				for _, refused := range []string{"allow_private", `allowedHosts: ["10.`, `allowedHosts: ["192.`, "secret_env", "api.tavily.com\"], secret", secret} {
					if strings.Contains(added+role, refused) {
						t.Errorf("the configuration has %s:\n%s\n%s", refused, role, added)
					}
				}
				if _, writes, _ := strings.Cut(role, "write:"); strings.Contains(writes, outside) || strings.Contains(added, `write: ["`+outside) {
					t.Errorf("the configuration lets a server write outside:\n%s\n%s", role, added)
				}
			})
		}
	}
}
