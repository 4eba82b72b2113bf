package command

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestNoSecretOfAClientShows puts a secret at every place of a client's file
// that may hold one, and searches all that import prints and writes.
func TestNoSecretOfAClientShows(t *testing.T) {
	t.Parallel()
	const known, named = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "hunter2-hunter2"
	for _, server := range []string{
		`{"command": "python3", "env": {"X": "` + known + `"}}`,
		`{"command": "python3", "env": {"API_KEY": "` + named + `"}}`,
		`{"command": "python3", "env": {"X": "${Y:-` + known + `}"}}`,
		`{"command": "python3", "env": {"X": "https://me:` + named + `@x.example"}}`,
		`{"command": "python3", "env": ["` + known + `"]}`,
		`{"command": "python3", "env": {"X": {"` + known + `": 1}}}`,
		`{"command": "python3", "env": {"B@D": "` + known + `"}}`,
		`{"command": "python3", "env": {"NODE_OPTIONS": "` + known + `"}}`,
		`{"command": "python3", "args": ["` + known + `"]}`,
		`{"command": "python3", "args": ["--token", "` + named + `"]}`,
		`{"command": "python3", "args": ["--apiKey=` + named + `"]}`,
		`{"command": "python3", "args": ["${Y:-` + known + `}", "${API_KEY:-` + named + `}"]}`,
		`{"command": "npx", "args": ["mcp-remote", "https://x.example/mcp?token=` + named + `"]}`,
		`{"command": "npx", "args": ["mcp-remote", "https://x.example/mcp", "--header", "Authorization: Bearer ` + named + `"]}`,
		`{"command": "npx", "args": ["mcp-remote", "https://x.example/mcp", "--header", "X-Api-Key:${K}"], "env": {"K": "` + named + `"}}`,
		`{"command": "sudo", "args": ["` + known + `"]}`,
		`{"url": "https://x.example/` + known + `/mcp"}`,
		`{"url": "https://` + named + `:` + named + `@x.example/mcp"}`,
		`{"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ` + named + `", "Cookie": "` + named + `", "X": "` + known + `"}}`,
		`{"url": "https://x.example/mcp", "headers": {"X": "a ${Y:-` + known + `}"}}`,
		`{"url": "https://x.example/mcp", "oauth": {"clientSecret": "` + named + `"}, "token": "` + known + `"}`,
		`{"command": "python3", "cwd": "${Y:-` + known + `}"}`,
	} {
		dir := t.TempDir()
		place(t, dir, app.ConfigName, "version: 1\nsecrets: [{env: S_}]\npersonalities:\n  default: {toolset: []}\n")
		place(t, dir, "mcp.json", `{"mcpServers": {"one": `+server+`}}`)
		var said strings.Builder
		for _, args := range [][]string{{}, {"--json"}, {"--host", "one=api.example"}, {"--write"}, {"--write", "--host", "one=api.example", "--json"}} {
			before := said.Len()
			code := runCommand(t.Context(), append([]string{"import", "./mcp.json"}, args...), &environment{
				stdin: io.NopCloser(strings.NewReader("")), stdout: nopCloser{&said}, Environment: app.Environment{
					Stderr: &said, Dir: dir, Home: dir,
					Lookup: func(string) (string, bool) { return "", false }, Pairs: func() []string { return nil },
				},
			})
			if said.Len() == before {
				t.Errorf("%s: %v said nothing: %d", server, args, code)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, app.ConfigName))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{known, named} {
			if strings.Contains(said.String()+string(text), secret) {
				t.Errorf("%s shows its secret:\n%s\n%s", server, said.String(), text)
			}
		}
	}
}
