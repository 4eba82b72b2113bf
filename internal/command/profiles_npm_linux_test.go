package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/profiles"
)

// profileArguments are what servers need to start, by profile; "." is the
// workspace.
var profileArguments = map[string][]string{
	"filesystem": {"."}, "sqlite": {"./notes.db"}, "obsidian": {"."}, "postgres": {"postgresql://127.0.0.1/db"}, "redis": {"redis://127.0.0.1"},
	"dbhub": {"--demo"}, "supabase": {"--features=database,debugging,development,functions"}, "cloudflare": {"run", "account"}, "neon": {"start", "placeholder"},
	"azure": {"server", "start"},
}

// writeVersion finds the version that lock names.
var writeVersion = regexp.MustCompile(`write \S+@(\S+), which is ([^\n]*)`)

// TestStartProfiles starts the servers of profiles that are on npm, each as
// import declares it, and writes what it found into the page of profiles:
// `make profiles`. SALLYPORT_TEST_PROFILES names them, or is all. The secrets
// are placeholders, so that no call reaches an account.
func TestStartProfiles(t *testing.T) {
	chosen := os.Getenv("SALLYPORT_TEST_PROFILES")
	if chosen == "" {
		t.Skip("set SALLYPORT_TEST_PROFILES to all, or to names of profiles: it takes minutes and the network")
	}
	page, err := os.ReadFile(profilesPage)
	if err != nil {
		t.Fatal(err)
	}
	results := parseStartResults(string(page))
	for _, known := range profiles.All() {
		if len(known.Match.NPM) == 0 || known.Instead != nil || known.Refused != "" ||
			chosen != "all" && !slices.Contains(strings.Split(chosen, ","), known.Name) {
			continue
		}
		r := startProfile(t, known)
		r.Date = time.Now().UTC().Format(time.DateOnly)
		t.Logf("%+v", r)
		results[known.Name] = r
		if err := os.WriteFile(profilesPage, []byte(formatProfiles(results)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// startProfile imports, pins, lists and calls one server.
func startProfile(t *testing.T, known *profiles.Profile) startResult {
	t.Helper()
	p := packageFolderOver(t, "registry.npmjs.org:443", nil)
	args := append([]string{"-y", known.Match.NPM[0]}, profileArguments[known.Name]...)
	for k, arg := range args {
		if arg == "." || strings.HasPrefix(arg, "./") {
			args[k] = filepath.Join(p.dir, arg)
		}
	}
	var secrets []string
	env, hosts := map[string]string{}, []string{"import", "./client.json", "--personality", "ops"}
	for _, name := range slices.Sorted(maps.Keys(known.Env)) {
		if known.Env[name].Secret {
			env[name] = "placeholder-of-a-secret"
			secrets = append(secrets, name)
		}
		if known.Env[name].Host && len(known.Hosts()) == 0 {
			env[name] = "https://server.example"
		}
	}
	for _, host := range known.Hosts() {
		hosts = append(hosts, "--host", "server="+host)
	}
	if len(env) > 0 && len(known.Hosts()) == 0 {
		hosts = append(hosts, "--host", "server=server.example")
	}
	folder := filepath.Join(p.dir, "secrets", "mcp", "server")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range secrets {
		place(t, folder, name, env[name])
	}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"server": map[string]any{"command": "npx", "args": args, "env": env}}})
	if err != nil {
		t.Fatal(err)
	}
	place(t, p.dir, "client.json", string(text))
	printed := func(args ...string) string {
		_, stdout, _ := p.run(args...)
		return stdout
	}
	const config = "version: 1\nsecrets: [{dir: ./secrets}]\npersonalities:\n  default: {toolset: []}\n"
	r := startResult{Version: known.Version, Remark: "the version that the profile names"}
	if r.Version == "" {
		place(t, p.dir, app.ConfigName, config)
		place(t, p.dir, "before.yaml", printed(append(slices.Clone(hosts), "--config", app.ConfigName)...))
		_, stdout, stderr := p.run("lock", "--config", app.ConfigName, "--config", "before.yaml")
		found := writeVersion.FindStringSubmatch(stdout + stderr)
		if found == nil {
			r.Remark = "no version was found"
			return r
		}
		r.Version, r.Remark = found[1], found[2]
	}
	place(t, p.dir, app.ConfigName, config)
	_, _, said := p.run(append(hosts, "--write", "--pin", "server="+r.Version)...)
	_, stdout, stderr := p.run("lock")
	begin := time.Now()
	var tools []struct{ Name string }
	list := printed("tools", "--personality", "ops", "--json")
	r.Milliseconds = int(time.Since(begin).Milliseconds())
	if err := json.Unmarshal([]byte(list), &tools); err != nil || len(tools) == 0 {
		r.Remark = "did not list its tools: " + lastLine(said+stderr+stdout)
		return r
	}
	r.Tools = len(tools)
	for name := range known.EffectsOf(profiles.NPM, known.Match.NPM[0]) {
		if !slices.ContainsFunc(tools, func(tool struct{ Name string }) bool { return tool.Name == "mcp__server__"+name }) {
			t.Errorf("%s: the profile says what %s does, and %s has no such tool", known.Name, name, r.Version)
		}
	}
	if known.Proof != nil {
		answer := printed("call", "--personality", "ops", "--json", "mcp__server__"+known.Proof.Tool, string(known.Proof.Arguments))
		r.Proof = strings.Contains(answer, `"ok":true`)
		t.Logf("%s: %s", known.Name, answer)
	}
	return r
}

// lastLine returns the end of a text on one line.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[len(lines)-1]
	return fmt.Sprintf("%.160s", line)
}
