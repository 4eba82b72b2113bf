package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestPresetsLoad(t *testing.T) {
	for _, name := range PresetNames() {
		t.Run(name, func(t *testing.T) {
			data, err := Preset(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			write(t, dir, "sallyport.yaml", string(data))
			c, err := Load([]string{filepath.Join(dir, "sallyport.yaml")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if name == "team" {
				if _, err := c.Choose(""); len(c.Personalities) != 2 || err == nil {
					t.Errorf("the preset has %d roles and chooses one (%v), want two that a caller has to name", len(c.Personalities), err)
				}
				return
			}
			p, err := c.Choose("")
			if err != nil || p.Name != DefaultPersonality {
				t.Fatalf("Choose = %v, %v, want default", p, err)
			}
			if p.Network == nil || p.Network.Allow == nil || p.Network.AllowPrivate {
				t.Errorf("Network = %+v, want an allow list and no private addresses", p.Network)
			}
			if (len(p.Network.Allow) > 0) != (name == "open") || (len(p.FSReach.Write) == 0) != (name == "locked") {
				t.Errorf("preset %s allows %v and writes %v", name, p.Network.Allow, p.FSReach.Write)
			}
		})
	}
	if _, err := Preset("lokced"); err == nil || !strings.Contains(err.Error(), `did you mean "locked"?`) {
		t.Errorf("Preset(lokced) error = %v, want a suggestion", err)
	}
	if _, err := Preset("../preset"); err == nil {
		t.Error("Preset(../preset) succeeded, want an error")
	}
}

// TestPresetsShowWhatLoads loads each preset with the keys that its comments show.
func TestPresetsShowWhatLoads(t *testing.T) {
	shown := regexp.MustCompile(`(?m)^( *)#((?:  )*[a-z][a-z_-]*:.*)$`)
	for _, name := range PresetNames() {
		t.Run(name, func(t *testing.T) {
			data, err := Preset(name)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Parse("sallyport.yaml", shown.ReplaceAll(data, []byte("$1$2")), testOptions())
			if err != nil {
				t.Fatal(err)
			}
			p := c.Personalities[DefaultPersonality]
			if name == "team" {
				p = c.Personalities["support"]
			}
			if len(c.Principals) != 1 || len(c.Servers) != 1 || p.Approvals == nil || len(p.MCPServers) != 1 {
				t.Errorf("the comments show %d principals, %d servers and the role %+v, want one of each", len(c.Principals), len(c.Servers), p)
			}
		})
	}
}

func TestReferencePage(t *testing.T) {
	const page = "../../docs/reference/config.md"
	text := referencePage()
	if *update {
		if err := os.MkdirAll(filepath.Dir(page), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(have)); diff != "" {
		t.Errorf("%s is not what the table says, run go test ./internal/config -update (-want +got):\n%s", page, diff)
	}
}

// TestTableIsComplete holds every row to what the reference page needs and
// every supported leaf to a type that the walk knows.
func TestTableIsComplete(t *testing.T) {
	types := []Type{TypeText, TypeNumber, TypeDecimal, TypeBool, TypeTexts, TypeMapping, TypeTextOrMapping, TypeNames, TypeChoices, TypeActions, TypeArguments, TypeEffects, TypeServer, TypeRunner, TypePlugin}
	for _, k := range keyDocs() {
		if k.Doc == "" || k.Supported && (!slices.Contains(types, k.Type) || k.Type != TypeMapping && k.Example == "") {
			t.Errorf("row %+v lacks a doc, a type or an example", k)
		}
		if !k.Supported && k.Type != "" {
			t.Errorf("row %s is not supported and has a type", k.Key)
		}
	}
}

// compileSchema returns the schema for editors.
func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestExamplesFitTheSchema holds the schema to every configuration that the repository
// shows.
func TestExamplesFitTheSchema(t *testing.T) {
	s, n := compileSchema(t), 0
	check := func(name, text string) {
		root := readTree([]byte(text))
		if root == nil {
			t.Errorf("%s has no tree", name)
			return
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(toJSON(root)))
		if err == nil {
			err = s.Validate(v)
		}
		if n++; err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	for _, pattern := range []string{"../../examples/*/*.yaml", "presets/*.yaml", "../../README.md", "../../docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(file) == ".yaml" {
				check(file, string(data))
				continue
			}
			for i, block := range strings.Split(string(data), "\n```") {
				if body, ok := strings.CutPrefix(block, "yaml\nversion:"); ok && i%2 == 1 {
					check(file, "version:"+body+"\n")
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("%d configurations were found, want more", n)
	}
}

func TestSchemaAgrees(t *testing.T) {
	s := compileSchema(t)
	texts := []struct {
		name, text string
		valid      bool
	}{
		{"full", fullYAML, true},
		{"unknown key", "version: 1\nfoo: 1\n", false},
		{"no version", "workspace: .\n", false},
		{"callers", callersYAML, true},
		{"the documents' form", `{"layers": {"capabilities": {"actions": [{"id": "a", "handler": "./a.py"}]}}}`, true},
		{"the documents' form with more", `{"layers": {}, "principals": {}}`, false},
		{"action without an id", "version: 1\nactions: [{name: x}]\n", false},
		{"database without a driver", "version: 1\ndatabases: {a: {url_secret: b}}\n", false},
		{"another algorithm", "version: 1\nsecurity: {oidc: {issuer: 'https://a.b', audience: a, permissions_claim: p, algorithms: [HS256]}}\n", false},
		{"server", "version: 1\nmcp_servers: {a: {command: [b]}}\npersonalities: {c: {mcp_servers: [a]}}\n", true},
		{"server as text", "version: 1\nmcp_servers: {a: b}\n", false},
		{"wrong type", "version: 1\npersonalities: {a: {toolset: x}}\n", false},
		{"runner of a server", "version: 1\nmcp_servers: {a: {command: [x]}}\ntask: {runner: {mcp: {server: a, tool: b, arguments: {p: \"{prompt}\"}}, timeout: 5s}}\npersonalities: {a: {}}\n", true},
		{"plugin", "version: 1\nplugins: {x: {module: ./x.wasm, memory: 8MiB, timeout: 5s}}\npersonalities: {a: {plugins: [x]}}\n", true},
		{"plugin as text", "version: 1\nplugins: {x: ./x.wasm}\n", false},
		{"two keys in one secret", "version: 1\nsecrets: [{env: A_, dir: b}]\n", false},
		{"sandbox as a word", "version: 1\nsandbox: none\n", true},
		{"sandbox as a mapping", "version: 1\nsandbox: {level: strict, cpus: 1.5}\n", true},
		{"sandbox with another word", "version: 1\nsandbox: off\n", false},
		{"sandbox with an unknown key", "version: 1\nsandbox: {network: true}\n", false},
		{"bad name", "version: 1\npersonalities: {'a b': {}}\n", false},
	}
	for _, name := range PresetNames() {
		data, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, struct {
			name, text string
			valid      bool
		}{name, string(data), true})
	}
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			root := readTree([]byte(tt.text))
			if root == nil {
				t.Fatal("the text has no tree")
			}
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(toJSON(root)))
			if err != nil {
				t.Fatal(err)
			}
			file := "s.yaml"
			if json.Valid([]byte(tt.text)) {
				file = "s.json"
			}
			_, parseErr := Parse(file, []byte(tt.text), testOptions())
			if err := s.Validate(v); (err == nil) != tt.valid || (parseErr == nil) != tt.valid {
				t.Errorf("schema says %v, Parse says %v, want valid = %t", err, parseErr, tt.valid)
			}
		})
	}
}

// TestGuideLoads loads each configuration that the guide shows.
func TestGuideLoads(t *testing.T) {
	const page = "../../docs/guides/configuration.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, block := range strings.Split(string(text), "\n```") {
		kind, body, _ := strings.Cut(block, "\n")
		if i%2 == 0 || kind != "yaml" && kind != "json" {
			continue
		}
		n++
		if _, err := Parse("example."+kind, []byte(body), testOptions()); err != nil {
			t.Errorf("%s shows\n%s\n%v", page, body, err)
		}
	}
	if n < 4 {
		t.Errorf("%s shows %d configurations, want more", page, n)
	}
}
