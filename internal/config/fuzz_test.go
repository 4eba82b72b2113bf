package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// readTree reads a text that is good YAML or JSON, nil for any other.
func readTree(data []byte) *yamldoc.Value {
	text := yamldoc.Source{Name: "s.yaml"}
	if faults := text.Parse(data, yamldoc.Bounds{Bytes: maxFileBytes, YAMLBytes: maxFileBytes, YAMLKeys: maxYAMLKeys}); len(faults) > 0 {
		return nil
	}
	return text.Root
}

// toJSON prints a tree as JSON, with tabs between its keys.
func toJSON(n *yamldoc.Value) string {
	text := func(s string) string {
		data, _ := json.Marshal(s)
		return string(data)
	}
	var parts []string
	switch n.Kind {
	case yamldoc.KindText:
		return text(n.Text)
	case yamldoc.KindNumber, yamldoc.KindBool:
		return strings.ToLower(n.Text)
	case yamldoc.KindList:
		for _, item := range n.Items {
			parts = append(parts, toJSON(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yamldoc.KindMapping:
		for _, f := range n.Fields {
			parts = append(parts, text(f.Name)+": "+toJSON(f.Value))
		}
		return "{" + strings.Join(parts, ",\n\t") + "}"
	default:
		return "null"
	}
}

func seeds(f *testing.F) {
	for _, name := range PresetNames() {
		data, err := Preset(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(fullYAML))
	f.Add([]byte(callersYAML))
	f.Add([]byte(actionYAML))
	for _, name := range []string{"wrong_types", "values", "refused_yaml", "syntax", "json", "paths", "unknown_keys", "duplicate_keys", "callers", "connections", "approvals", "actions", "layers"} {
		ar, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files[:len(ar.Files)-1] {
			f.Add(file.Data)
		}
	}
	f.Add([]byte("a: \"x\" y\n"))
	f.Add([]byte("version: 1\nworkspace: |2-\n   x\n\n  y\n"))
}

// FuzzParse: Parse never panics; an error is a list of faults, each at a place
// of the file and without the bytes of a terminal; a configuration has
// absolute paths only; and the same tree written as JSON says the same.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			t.Skip("long inputs only cost time; their bound has its own test")
		}
		c, err := Parse("s.yaml", data, testOptions())
		if err == nil {
			checkPaths(t, c)
			checkJSON(t, c, data)
			return
		}
		if c != nil {
			t.Fatalf("Parse gives a configuration and %v", err)
		}
		checkFaults(t, err, strings.Count(string(data), "\n")+1)
	})
}

func checkFaults(t *testing.T, err error, lines int) {
	fs, ok := errors.AsType[yamldoc.Faults](err)
	if !ok || len(fs) == 0 {
		t.Fatalf("Parse error = %#v, want faults", err)
	}
	for _, f := range fs {
		if f.File != "s.yaml" || f.Line < 1 || f.Line > lines || f.Column < 1 || f.Message == "" {
			t.Errorf("fault %+v has no place in %d lines", f, lines)
		}
	}
	for _, r := range err.Error() {
		if r < 0x20 && r != '\n' || r == utf8.RuneError {
			t.Errorf("error text holds %U: %q", r, err)
			break
		}
	}
}

func checkPaths(t *testing.T, c *Config) {
	paths := []string{c.Workspace, c.Dir}
	for _, p := range c.Personalities {
		if p.FSReach != nil {
			paths = append(append(paths, p.FSReach.Read...), p.FSReach.Write...)
		}
	}
	for _, p := range paths {
		if !strings.HasPrefix(p, "/") || strings.Contains(p, "${") && !strings.Contains(p, "/") {
			t.Errorf("path %q is not absolute", p)
		}
	}
}

// checkJSON loads the JSON form of a good configuration.
func checkJSON(t *testing.T, c *Config, data []byte) {
	root := readTree(data)
	if root == nil {
		t.Fatal("a good configuration has no tree")
	}
	again, err := Parse("s.json", []byte(toJSON(root)), testOptions())
	if err != nil {
		t.Fatalf("JSON form of a good configuration: %v\n%s", err, toJSON(root))
	}
	again.Digest = c.Digest
	if diff := cmp.Diff(stripped(c), stripped(again), cmpopts.IgnoreUnexported(Config{}, Part{})); diff != "" {
		t.Errorf("YAML and JSON form differ:\n%s", diff)
	}
}

func stripped(c *Config) *Config {
	out := *c
	for _, p := range out.Personalities {
		p.Sources = nil
	}
	return &out
}

func BenchmarkParse(b *testing.B) {
	data, err := Preset(DefaultPreset)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("sallyport.yaml", data, testOptions()); err != nil {
			b.Fatal(err)
		}
	}
}
