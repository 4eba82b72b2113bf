package config

import (
	"errors"
	"flag"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sallyport/sallyport"
)

var update = flag.Bool("update", false, "rewrite golden files")

// testOptions are the surroundings of every test: nothing of the machine.
func testOptions() *Options { return &Options{Home: "/home/ann", Dir: "/work/proj"} }

// TestGolden loads the files of each archive in testdata and compares the
// error text with its last file, "want". An archive without faults has an
// empty one.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("Glob = %v, %v, want golden files", paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			checkGolden(t, path)
		})
	}
}

func checkGolden(t *testing.T, path string) {
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var names []string
	last := len(ar.Files) - 1
	for _, f := range ar.Files[:last] {
		names = append(names, f.Name)
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Load(names, &Options{Home: "/home/ann", Dir: dir})
	got := ""
	if err != nil {
		got = err.Error() + "\n"
	}
	if *update {
		ar.Files[last].Data = []byte(got)
		if err := os.WriteFile(path, txtar.Format(ar), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(ar.Files[last].Data), got); diff != "" {
		t.Errorf("Load(%v) error text differs (-want +got):\n%s", names, diff)
	}
}

const fullYAML = `version: 1
workspace: ./ws
state: sqlite:var/state.db
secrets: [{env: APP_}, {dir: ./secrets}]
personalities:
  researcher:
    description: Reads the web.
    toolset: ["@file", fetch_url]
    mcp_servers: []
    plugins: []
    fs_reach:
      read: ["${workspace}", /data/../srv, docs]
      write: ["${workspace}/notes", "${home}/out", "${self}/x"]
    safety:
      network: {allow: ["API.example.com", "*.github.com."], deny: ["x.github.com"], allow_private_urls: true}
      secrets: {allow: ["providers/*"]}
      process: {allow: [git, /usr/bin/make]}
sandbox: {level: strict, memory: 2GiB, processes: 64, cpus: 1.5, file_size: 10MiB, tmp: 1MiB, toolchains: [/opt/node, "${home}/sdk/go"]}
`

func TestParseFull(t *testing.T) {
	c, err := Parse("sub/sallyport.yaml", []byte(fullYAML), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Dir: "/work/proj/sub", Workspace: "/work/proj/sub/ws",
		Version: 1,
		State:   State{Kind: StateSQLite, Path: "/work/proj/sub/var/state.db"},
		Secrets: []SecretBackend{{EnvPrefix: "APP_"}, {Dir: "/work/proj/sub/secrets"}},
		Personalities: map[string]*sallyport.Personality{"researcher": {
			Name: "researcher", Description: "Reads the web.",
			Toolset: []string{"@file", "fetch_url"}, MCPServers: []string{}, Plugins: []string{},
			FSReach: &sallyport.Reach{
				Read:  []string{"/work/proj/sub/ws", "/srv", "/work/proj/sub/docs"},
				Write: []string{"/work/proj/sub/ws/notes", "/home/ann/out", "/work/proj/sub/x"},
			},
			Network: &sallyport.NetworkPolicy{
				Allow: []string{"api.example.com", "*.github.com"}, Deny: []string{"x.github.com"}, AllowPrivate: true,
			},
			Secrets: []string{"providers/*"}, Process: []string{"git", "/usr/bin/make"},
		}},
		Sandbox: Sandbox{
			Level: sallyport.LevelStrict, Memory: 2 << 30, Processes: 64, CPUs: 1.5, FileSize: 10 << 20, Tmp: 1 << 20,
			Toolchains: []string{"/opt/node", "/home/ann/sdk/go"},
		},
		Limits: LimitsState, Security: Security{RequireAuth: true}, Log: Log{Format: "text", Level: slog.LevelWarn},
		Digest: "6b9a",
	}
	ignore := cmp.Options{
		cmpopts.IgnoreUnexported(Config{}), cmpopts.IgnoreFields(sallyport.Personality{}, "Sources"),
		cmpopts.IgnoreFields(Config{}, "Digest"),
	}
	if diff := cmp.Diff(want, c, ignore); diff != "" {
		t.Errorf("Parse differs (-want +got):\n%s", diff)
	}
}

func TestSources(t *testing.T) {
	c, err := Parse("sub/sallyport.yaml", []byte(fullYAML), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	at := func(place string) string { return "sub/sallyport.yaml:" + place }
	want := map[string]string{
		"": at("6:3"), "description": at("7:5"),
		"toolset": at("8:5"), "toolset.0": at("8:15"), "toolset.1": at("8:24"),
		"mcp_servers": at("9:5"), "plugins": at("10:5"),
		"fs_reach": at("11:5"), "fs_reach.read": at("12:7"), "fs_reach.read.0": at("12:14"),
		"fs_reach.read.1": at("12:30"), "fs_reach.read.2": at("12:44"),
		"fs_reach.write": at("13:7"), "fs_reach.write.0": at("13:15"), "fs_reach.write.1": at("13:37"), "fs_reach.write.2": at("13:52"),
		"safety": at("14:5"), "safety.network": at("15:7"),
		"safety.network.allow": at("15:17"), "safety.network.allow.0": at("15:25"), "safety.network.allow.1": at("15:44"),
		"safety.network.deny": at("15:62"), "safety.network.deny.0": at("15:69"), "safety.network.allow_private_urls": at("15:86"),
		"safety.secrets": at("16:7"), "safety.secrets.allow": at("16:17"), "safety.secrets.allow.0": at("16:25"),
		"safety.process": at("17:7"), "safety.process.allow": at("17:17"), "safety.process.allow.0": at("17:25"), "safety.process.allow.1": at("17:30"),
	}
	p := c.Personalities["researcher"]
	if diff := cmp.Diff(want, p.Sources); diff != "" {
		t.Errorf("Sources differ (-want +got):\n%s", diff)
	}
	if got, want := p.Source("safety.network.allow.7"), at("15:17"); got != want {
		t.Errorf("Source(safety.network.allow.7) = %s, want %s", got, want)
	}
	if got, want := c.Source("secrets.1.dir"), at("4:25"); got != want {
		t.Errorf("Source(secrets.1.dir) = %s, want %s", got, want)
	}
	if got := c.Source("nothing"); got != "" {
		t.Errorf("Source(nothing) = %s, want none", got)
	}
}

func TestAbsentAndEmptyDiffer(t *testing.T) {
	tests := []struct {
		name, body string
		get        func(*sallyport.Personality) []string
		wantNil    bool
	}{
		{"toolset absent", "{}", func(p *sallyport.Personality) []string { return p.Toolset }, true},
		{"toolset empty", "{toolset: []}", func(p *sallyport.Personality) []string { return p.Toolset }, false},
		{"allow absent", "{safety: {network: {}}}", func(p *sallyport.Personality) []string { return p.Network.Allow }, true},
		{"allow empty", "{safety: {network: {allow: []}}}", func(p *sallyport.Personality) []string { return p.Network.Allow }, false},
		{"secrets absent", "{safety: {secrets: {}}}", func(p *sallyport.Personality) []string { return p.Secrets }, true},
		{"process absent", "{safety: {process: {}}}", func(p *sallyport.Personality) []string { return p.Process }, true},
		{"process empty", "{safety: {process: {allow: []}}}", func(p *sallyport.Personality) []string { return p.Process }, false},
		{"secrets empty", "{safety: {secrets: {allow: []}}}", func(p *sallyport.Personality) []string { return p.Secrets }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse("s.yaml", []byte("version: 1\npersonalities: {a: "+tt.body+"}\n"), testOptions())
			if err != nil {
				t.Fatal(err)
			}
			got := tt.get(c.Personalities["a"])
			if (got == nil) != tt.wantNil || len(got) != 0 {
				t.Errorf("%s gives %#v, want nil = %t", tt.body, got, tt.wantNil)
			}
		})
	}
}

func TestNoBlocksAreNil(t *testing.T) {
	c, err := Parse("s.yaml", []byte("version: 1\npersonalities: {a: {}}\n"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := &sallyport.Personality{Name: "a", Sources: map[string]string{"": "s.yaml:2:17"}}
	if diff := cmp.Diff(want, c.Personalities["a"]); diff != "" {
		t.Errorf("empty personality differs (-want +got):\n%s", diff)
	}
	if c.Implicit || c.Secrets != nil {
		t.Errorf("Implicit, Secrets = %t, %v, want false, nil", c.Implicit, c.Secrets)
	}
}

func TestImplicitDefault(t *testing.T) {
	c, err := Parse("s.yaml", []byte("version: 1\nsecrets: []\n"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Dir: "/work/proj", Version: 1, Workspace: "/work/proj", State: State{Kind: StateSQLite, Path: "/work/proj/.sallyport/state.db"},
		Sandbox: Sandbox{Level: sallyport.LevelFull},
		Limits:  LimitsState, Security: Security{RequireAuth: true}, Log: Log{Format: "text", Level: slog.LevelWarn},
		Secrets: []SecretBackend{}, Implicit: true,
		Personalities: map[string]*sallyport.Personality{"default": {Name: "default"}},
		// printf 'version: 1\nsecrets: []\n' | sha256sum
		Digest: "e8a3d3892daa40abdc1384e59fe855ae3aaf12c774403b6635aaa0dc61e1ca81",
	}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("Parse differs (-want +got):\n%s", diff)
	}
}

func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "version: 1\npersonalities:\n  a: {fs_reach: {read: [x, \"${workspace}\", \"${self}\"]}}\n")
	write(t, dir, "sub/b.yaml", "version: 1\nworkspace: ws\npersonalities:\n  b: {fs_reach: {read: [x]}}\n")
	c, err := Load([]string{"a.yaml", "sub/b.yaml"}, &Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "a.yaml"), filepath.Join(dir, "sub/b.yaml")}, c.Files); diff != "" {
		t.Errorf("Files differ (-want +got):\n%s", diff)
	}
	wantA := []string{filepath.Join(dir, "x"), filepath.Join(dir, "sub/ws"), dir}
	if diff := cmp.Diff(wantA, c.Personalities["a"].FSReach.Read); diff != "" {
		t.Errorf("a reads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "sub/x")}, c.Personalities["b"].FSReach.Read); diff != "" {
		t.Errorf("b reads (-want +got):\n%s", diff)
	}
	other, err := Load([]string{"sub/b.yaml", "a.yaml"}, &Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if other.Digest == c.Digest || len(c.Digest) != 64 {
		t.Errorf("Digest = %s and %s, want two of 64 digits that differ", c.Digest, other.Digest)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "version: 1\n")
	tests := []struct {
		name  string
		paths []string
		want  string
		is    error
	}{
		{"missing", []string{"none.yaml"}, "none.yaml: cannot be read: no such file or directory", fs.ErrNotExist},
		{"folder", []string{"."}, ".: cannot be read: not a regular file", nil},
		{"device", []string{"/dev/zero"}, "/dev/zero: cannot be read: not a regular file", nil},
		{"twice", []string{"a.yaml", "./a.yaml"}, "./a.yaml: the same file is given twice", nil},
		{"none", nil, "config: 0 files: expected 1 to 64", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(tt.paths, &Options{Dir: dir})
			if c != nil || err == nil || err.Error() != tt.want {
				t.Fatalf("Load(%v) = %v, %v, want error %q", tt.paths, c, err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("errors.Is(%v, %v) = false, want true", err, tt.is)
			}
		})
	}
	if _, err := Parse("a.yaml", []byte("version: 1\n"), nil); err == nil {
		t.Error("Parse of a relative name without Options.Dir succeeded, want an error")
	}
}

func TestHomeComesFromOptionsOnly(t *testing.T) {
	t.Setenv("HOME", "/ambient")
	text := []byte("version: 1\nworkspace: ${home}/ws\n")
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"none", Options{Dir: "/d"}, ""},
		{"environ", Options{Dir: "/d", Environ: func(string) string { return "/e" }}, "/e/ws"},
		{"home", Options{Dir: "/d", Home: "/h", Environ: func(string) string { return "/e" }}, "/h/ws"},
		{"relative", Options{Dir: "/d", Home: "h"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse("s.yaml", text, &tt.o)
			got := ""
			if err == nil {
				got = c.Workspace
			}
			if got != tt.want {
				t.Errorf("Workspace = %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	tests := []struct{ name, personalities, choose, want, wantErr string }{
		{"given", "{a: {}, b: {}}", "b", "b", ""},
		{"only one", "{a: {}}", "", "a", ""},
		{"default", "{a: {}, default: {}}", "", "default", ""},
		{"several", "{b: {}, a: {}}", "", "", `no personality is chosen and none is named "default": name one with --personality: a or b`},
		{"near", "{researcher: {}, ops: {}}", "reseacher", "", `no personality "reseacher"; did you mean "researcher"?: expected ops or researcher`},
		{"unknown", "{a: {}}", "zzz", "", `no personality "zzz": expected a`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse("s.yaml", []byte("version: 1\npersonalities: "+tt.personalities), testOptions())
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.Choose(tt.choose)
			if tt.wantErr != "" {
				if err == nil || err.Error() != tt.wantErr {
					t.Errorf("Choose(%q) error = %v, want %s", tt.choose, err, tt.wantErr)
				}
				return
			}
			if err != nil || p.Name != tt.want {
				t.Errorf("Choose(%q) = %v, %v, want %s", tt.choose, p, err, tt.want)
			}
		})
	}
}

func TestPersonality(t *testing.T) {
	c, err := Parse("s.yaml", []byte("version: 1\npersonalities: {a: {}}"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := c.Personality("a"); !ok || p.Name != "a" {
		t.Errorf("Personality(a) = %v, %t, want it", p, ok)
	}
	if p, ok := c.Personality("A"); ok || p != nil {
		t.Errorf("Personality(A) = %v, %t, want none", p, ok)
	}
}

func TestConfigFault(t *testing.T) {
	c, err := Parse("s.yaml", []byte("version: 1\npersonalities:\n  a:\n    toolset: [read_fil]\n"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, personality, key string
		index                  int
		want                   string
	}{
		{"item", "a", "toolset", 0, "s.yaml:4:15: no"},
		{"key", "a", "toolset", -1, "s.yaml:4:5: no"},
		{"nearest parent", "a", "safety.network.allow", -1, "s.yaml:3:3: no"},
		{"top", "", "version", -1, "s.yaml:1:1: no"},
		{"nowhere", "", "secrets", -1, "s.yaml:1:1: no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := c.Fault(tt.personality, tt.key, tt.index, "no")
			if f.Error() != tt.want || f.Snippet == "" {
				t.Errorf("Fault(%q, %q, %d) = %s (snippet %q), want %s", tt.personality, tt.key, tt.index, f.Error(), f.Snippet, tt.want)
			}
		})
	}
}
