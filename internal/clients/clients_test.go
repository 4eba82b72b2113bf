package clients_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/jsonc"
)

func folders(t *testing.T) *clients.Folders {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &clients.Folders{Home: filepath.Join(root, "home"), Dir: filepath.Join(root, "work"), OS: "linux"}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		client string
		f      clients.Folders
		want   []string
	}{
		{"claude-desktop", clients.Folders{Home: "/h", Dir: "/w", OS: "linux"}, []string{"/h/.config/Claude/claude_desktop_config.json"}},
		{"claude-desktop", clients.Folders{Home: "/h", Dir: "/w", OS: "linux", Config: "/x"}, []string{"/x/Claude/claude_desktop_config.json"}},
		{"claude-desktop", clients.Folders{Home: "/h", Dir: "/w", OS: "darwin", Config: "/x"}, []string{"/h/Library/Application Support/Claude/claude_desktop_config.json"}},
		{"codex", clients.Folders{Home: "/h", Dir: "/w"}, []string{"/h/.codex/config.toml", "/w/.codex/config.toml"}},
		{"codex", clients.Folders{Home: "/h", Dir: "/w", Codex: "/c"}, []string{"/c/config.toml", "/w/.codex/config.toml"}},
		{"zed", clients.Folders{Home: "/h", Dir: "/w", OS: "darwin"}, []string{"/h/.config/zed/settings.json", "/w/.zed/settings.json"}},
		{"zed", clients.Folders{Home: "/h", Dir: "/w", OS: "windows", AppData: "/a"}, []string{"/a/Zed/settings.json", "/w/.zed/settings.json"}},
		{"roo", clients.Folders{Home: "/h", Dir: "/w", OS: "linux"}, []string{"/h/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", "/w/.roo/mcp.json"}},
		{"claude-desktop", clients.Folders{Home: "/h", Dir: "/w", OS: "windows"}, []string{"/h/AppData/Roaming/Claude/claude_desktop_config.json"}},
		{"claude-desktop", clients.Folders{Home: "/h", Dir: "/w", OS: "windows", AppData: "/a"}, []string{"/a/Claude/claude_desktop_config.json"}},
		{"claude-code", clients.Folders{Home: "/h", Dir: "/w"}, []string{"/h/.claude.json", "/w/.mcp.json"}},
		{"cursor", clients.Folders{Home: "/h", Dir: "/w"}, []string{"/h/.cursor/mcp.json", "/w/.cursor/mcp.json"}},
		{"vscode", clients.Folders{Home: "/h", Dir: "/w", OS: "linux"}, []string{"/h/.config/Code/User/mcp.json", "/w/.vscode/mcp.json"}},
	} {
		c, ok := clients.Find(tt.client)
		if diff := cmp.Diff(tt.want, c.Files(&tt.f)); !ok || diff != "" {
			t.Errorf("Files of %s on %s (-want +got):\n%s", tt.client, tt.f.OS, diff)
		}
		for _, path := range tt.want {
			if got := clients.Of(path, &tt.f); got.Name != tt.client {
				t.Errorf("Of(%s) = %s, want %s", path, got.Name, tt.client)
			}
		}
	}
	for path, want := range map[string]string{
		"/tmp/claude_desktop_config.json": "claude-desktop", "/p/.mcp.json": "claude-code",
		"/p/.vscode/mcp.json": "vscode", "/p/.cursor/mcp.json": "cursor", "/p/mcp.json": "imported", "/p/x.json": "imported",
	} {
		if got := clients.Of(path, &clients.Folders{Home: "/h", Dir: "/w"}); got.Name != want {
			t.Errorf("Of(%s) = %s, want %s", path, got.Name, want)
		}
	}
}

func TestReadTakesWhatBelongsToTheFolder(t *testing.T) {
	f := folders(t)
	c, _ := clients.Find("claude-code")
	path := c.Files(f)[0]
	write(t, path, `{"numStartups": 4, "mcpServers": {
  "a": {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"N": 1, "B": true, "S": "t", "Z": null}, "timeout": 3},
  "sallyport": {"command": "/usr/bin/sallyport", "args": ["serve", "--stdio"]}
 },
 "projects": {
  "`+f.Dir+`": {"mcpServers": {"b": {"type": "http", "url": "https://b.example/mcp", "headers": {"X": "y"}}}},
  "/other": {"mcpServers": {"c": {"command": "c"}}}, "/none": {"mcpServers": {}}
 }}`)
	file, err := clients.Read(c, path, f)
	if err != nil {
		t.Fatal(err)
	}
	want := []clients.Server{
		{
			Name: "a", At: path + ":2:3", In: path + ":mcpServers", Type: "stdio", Command: "npx", Args: []string{"-y", "x"},
			Env: []clients.Pair{{Name: "N", Value: "1"}, {Name: "B", Value: "true"}, {Name: "S", Value: "t"}}, Unknown: []string{"timeout"},
		},
		{Name: "b", In: path + ":projects." + f.Dir + ".mcpServers", At: path + ":6:" + file.Servers()[1].At[strings.LastIndexByte(file.Servers()[1].At, ':')+1:], Project: f.Dir, Type: "http", URL: "https://b.example/mcp", Headers: []clients.Pair{{Name: "X", Value: "y"}}},
	}
	if diff := cmp.Diff(want, file.Servers()); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if !file.Connected() || !cmp.Equal(file.Elsewhere, []string{"/other"}) {
		t.Errorf("Connected = %v, Elsewhere = %v, want true and /other", file.Connected(), file.Elsewhere)
	}
}

func TestReadRefuses(t *testing.T) {
	f := folders(t)
	c, _ := clients.Find("cursor")
	for _, tt := range []struct{ name, text, want string }{
		{"a list", `[]`, "expected an object, found a list"},
		{"servers in a list", `{"mcpServers": [1]}`, "1:16: mcpServers: expected an object"},
		{"a server twice", `{"mcpServers": {"a": {}, "a": {}}}`, `1:26: "a" is there twice`},
		{"depth", strings.Repeat("[", 1_000_000), "nested deeper"},
		{"too many", `{"mcpServers": {` + many(300) + `}}`, "more than 256 servers"},
	} {
		path := filepath.Join(f.Home, tt.name+".json")
		write(t, path, tt.text)
		if _, err := clients.Read(c, path, f); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Read(%s) = %v, want %q", tt.name, err, tt.want)
		}
	}
	large := filepath.Join(f.Home, "large.json")
	write(t, large, "{}")
	if err := os.Truncate(large, 100<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := clients.Read(c, large, f); err == nil || !strings.Contains(err.Error(), "expected at most") {
		t.Errorf("Read of 100 MB = %v", err)
	}
	if _, err := clients.Read(c, f.Home, f); err == nil || !strings.Contains(err.Error(), "expected a regular file") {
		t.Errorf("Read of a folder = %v", err)
	}
	if file, err := clients.Read(c, filepath.Join(f.Home, "none"), f); err != nil || file.Text != nil {
		t.Errorf("Read of nothing = %v, %v", file, err)
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strings.Repeat("x", i+1) + `": {}`)
	}
	return b.String()
}

func TestExpand(t *testing.T) {
	editor, shell := clients.Client{Variables: clients.EditorVariables}, clients.Client{Variables: clients.ShellVariables}
	for _, tt := range []struct {
		c          clients.Client
		text, want string
		refs       []clients.Ref
	}{
		{editor, "${workspaceFolder}${/}a ${userHome}", "/w/a /h", nil},
		{clients.Client{Variables: clients.DollarVariables}, "$A-${B:-c} 5$", "$A-${B:-c} 5$", []clients.Ref{{Kind: "env", Name: "A", Text: "$A"}, {Kind: "env", Name: "B", Text: "${B:-c}", Default: "c", HasDefault: true}}},
		{editor, "x ${env:A} ${input:b}", "x ${env:A} ${input:b}", []clients.Ref{{Kind: "env", Name: "A", Text: "${env:A}"}, {Kind: "input", Name: "b", Text: "${input:b}"}}},
		{editor, "${A}", "${A}", []clients.Ref{{Name: "A", Text: "${A}"}}},
		{shell, "${A} ${B:-c d}", "${A} ${B:-c d}", []clients.Ref{{Kind: "env", Name: "A", Text: "${A}"}, {Kind: "env", Name: "B", Text: "${B:-c d}", Default: "c d", HasDefault: true}}},
		{clients.Client{}, "${A}", "${A}", nil},
	} {
		got, refs := tt.c.Expand(tt.text, "/h", "/w")
		if diff := cmp.Diff(tt.refs, refs); got != tt.want || diff != "" {
			t.Errorf("Expand(%q) = %q, want %q (-want +got):\n%s", tt.text, got, tt.want, diff)
		}
	}
}

func TestSecretPair(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        bool
	}{
		{"GITHUB_PERSONAL_ACCESS_TOKEN", "<YOUR_TOKEN>", true},
		{"OPENAI_API_KEY", "sk-abc", true},
		{"openaiApiKey", "hello-there", true},
		{"APIKEY", "hello-there", true},
		{"DB_PASSWORD", "hunter22", true},
		{"X", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", true},
		{"X", "9f86d081884c7d659a2feaa0c55ad015", true},
		{"X", "eyJhbGciOiJIUzI1NiJ9.e30.x", true},
		{"DATABASE_URL", "postgresql://me:pass@db.example/x", true},
		{"X", "https://api.example/?api_key=1", true},
		{"Authorization", "Bearer x", true},
		{"X", "https://mcp.example/s/9f86d081884c7d659a2feaa0c55ad015/mcp", true},
		{"X", "https://github.com/modelcontextprotocol/servers", false},
		{"X", "curl -H 'Authorization: Bearer ghp_16C7e42F292c6912E7710c838347Ae178B4a' x", true},
		{"X", "a=1;b=9f86d081884c7d659a2feaa0c55ad015", true},
		{"X", "--allowed-origins=https://a.example,https://b.example", false},
		{"X", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", true},
		{"MAX_TOKENS", "4096", false},
		{"USE_KEYRING", "true", false},
		{"KEYBOARD_LAYOUT", "us-intl", false},
		{"MONKEY", "george", false},
		{"GOOGLE_APPLICATION_CREDENTIALS", "/home/u/key.json", false},
		{"X", "@modelcontextprotocol/server-filesystem", false},
		{"API_URL", "https://api.example.com/v2", false},
		{"LOG_LEVEL", "debug", false},
		{"REGION", "eu-central-1", false},
		{"MODEL", "claude-3-5-sonnet-20241022", false},
		{"EMPTY_TOKEN", "", false},
		{"DB_PASSWORD", "12345678", true},
		{"PASSWORD_LENGTH", "12345678", false},
		{"MAX_SECRET", "1", false},
		{"API_KEY", "/9j4kd83jf/kslwo29dk3lspqm29sk", true},
		{"API_KEY", "/ab+cd/ef==", true},
		{"SSH_KEY", "/home/u/.ssh/id_ed25519", false},
		{"X", "Server=db;User Id=sa;Password=hunter2;", true},
		{"X", "host=db user=me password=hunter2", true},
		{"X", `{"Authorization":"Bearer hunter2"}`, true},
		{"X", "{'token': 'hunter2'}", true},
		{"--env", "API_KEY=hunter2", true},
		{"", "--env=API_KEY=hunter2", true},
		{"--header", "X-Api-Key: hunter2", true},
		{"X", "https://9f86d081884c7d659a2feaa0c55ad015@git.example/x", true},
		{"X", "ssh://git@git.example/x", false},
		{"X", "--ssh-key=/home/u/.ssh/id_ed25519", false},
		{"X", "max_tokens=4096", false},
		{"X", "https://a.example:8080/keys/list", false},
		{"X", `C:\Users\me\docs`, false},
	} {
		if got := clients.SecretPair(tt.name, tt.value); got != tt.want {
			t.Errorf("SecretPair(%s, %s) = %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
}

const entry = `{"command":"sallyport","args":["serve","--stdio"]}`

// TestRewriteAndRestore holds an edit to the servers, and the way back to every
// byte.
func TestRewriteAndRestore(t *testing.T) {
	f := folders(t)
	c, _ := clients.Find("cursor")
	text := "\ufeff{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"a\"}, // one\r\n\t\t\"b\": {\"command\": \"b\", /* two */},\r\n\t},\r\n\t\"z\": [1,2,],\r\n}"
	path := filepath.Join(f.Home, "mcp.json")
	write(t, path, text)
	read := func(text string) *clients.File {
		t.Helper()
		write(t, path, text)
		file, err := clients.Read(c, path, f)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	before := read(text)
	out, err := before.Rewrite([]byte(entry), func(s clients.Server) bool { return s.Name == "a" })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\ufeff{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"sallyport\": {", "\"b\": {\"command\": \"b\", /* two */}", "},\r\n\t\"z\": [1,2,],\r\n}"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("Rewrite = %q, want %q", out, want)
		}
	}
	after := read(string(out))
	if got := after.Servers(); !after.Connected() || len(got) != 1 || got[0].Name != "b" {
		t.Errorf("servers after Rewrite = %v, want b alone", got)
	}
	if back, err := after.Restore(before); err != nil || string(back) != text {
		t.Errorf("Restore = %q, %v, want the first text", back, err)
	}
	changed := read(strings.Replace(string(out), "[1,2,]", "[3]", 1))
	if back, err := changed.Restore(before); err != nil || string(back) != strings.Replace(text, "[1,2,]", "[3]", 1) {
		t.Errorf("Restore of a file that was changed elsewhere = %q, %v", back, err)
	}
	for name, edit := range map[string][2]string{
		"a new server":     {`"b":`, `"c": {"command": "c"}, "b":`},
		"a changed server": {`"command": "b"`, `"command": "x"`},
		"no entry":         {`"sallyport":`, `"x":`},
	} {
		text := strings.Replace(string(out), edit[0], edit[1], 1)
		if name == "no entry" {
			text = strings.Replace(text, "--stdio", "--x", 1)
			text = strings.Replace(text, `"sallyport"`, `"y"`, 1)
		}
		if back, err := read(text).Restore(before); err == nil {
			t.Errorf("%s: Restore = %q, want an error", name, back)
		}
	}
}

func TestConnect(t *testing.T) {
	f := folders(t)
	c, _ := clients.Find("vscode")
	for _, tt := range []struct{ name, text, want string }{
		{"no file", "", "{\n  \"servers\": {\n    \"sallyport\": {\n      \"command\": \"sallyport\",\n      \"args\": [\n        \"serve\",\n        \"--stdio\"\n      ]\n    }\n  }\n}\n"},
		{"another key", `{"inputs": []}`, "{\"inputs\": [],\n  \"servers\": {\n    \"sallyport\": {\n      \"command\": \"sallyport\",\n      \"args\": [\n        \"serve\",\n        \"--stdio\"\n      ]\n    }\n  }}"},
		{"as it is", `{"servers": {"sallyport": {"args": ["serve", "--stdio"], "command": "sallyport"}}}`, `{"servers": {"sallyport": {"args": ["serve", "--stdio"], "command": "sallyport"}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(f.Home, tt.name)
			if tt.text != "" {
				write(t, path, tt.text)
			}
			file, err := clients.Read(c, path, f)
			if err != nil {
				t.Fatal(err)
			}
			got, err := file.Connect([]byte(entry))
			if err != nil || string(got) != tt.want {
				t.Errorf("Connect = %q, %v, want %q", got, err, tt.want)
			}
			if _, err := jsonc.Parse(got, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTheStoreOfWindowsHasAFolderOfItsOwn checks which file of Claude Desktop
// counts where the program comes from the store.
func TestTheStoreOfWindowsHasAFolderOfItsOwn(t *testing.T) {
	f := folders(t)
	f.OS = "windows"
	c, _ := clients.Find("claude-desktop")
	path := filepath.Join(f.Home, "AppData", "Local", "Packages", "Claude_x1y2", "LocalCache", "Roaming", "Claude", "claude_desktop_config.json")
	write(t, path, "{}")
	if got := c.Main(f); got != path {
		t.Errorf("Main = %s, want %s", got, path)
	}
}
