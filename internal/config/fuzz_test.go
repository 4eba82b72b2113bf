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
)

// toJSON prints a tree as JSON; numbers that JSON does not know print as 0.
func toJSON(n *Value) string {
	var b strings.Builder
	writeJSON(&b, n)
	return b.String()
}

func writeJSON(b *strings.Builder, n *Value) {
	text := func(s string) {
		data, _ := json.Marshal(s)
		b.Write(data)
	}
	switch n.Kind {
	case KindText:
		text(n.Text)
	case KindNumber:
		if json.Valid([]byte(n.Text)) {
			b.WriteString(n.Text)
		} else {
			b.WriteByte('0')
		}
	case KindBool:
		b.WriteString(strings.ToLower(n.Text))
	case KindList:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			writeJSON(b, item)
		}
		b.WriteByte(']')
	case KindMapping:
		b.WriteByte('{')
		for i, f := range n.Fields {
			if i > 0 {
				b.WriteString(",\n\t")
			}
			text(f.Name)
			b.WriteString(": ")
			writeJSON(b, f.Value)
		}
		b.WriteByte('}')
	default:
		b.WriteString("null")
	}
}

// shape prints a tree without positions and in the form that toJSON keeps.
func shape(n *Value) string { return toJSON(n) }

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
	fs, ok := errors.AsType[Faults](err)
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
	text, _ := decodeText(data, maxFileBytes)
	root, faults := parseYAML(text, maxYAMLKeys)
	if len(faults) > 0 {
		return // JSON that is no YAML, such as one with tabs.
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

// FuzzTree: the YAML reader drops nothing in silence and places are right:
// the source at the place of a plain key begins with that key, and the JSON
// form of a tree reads back as the same tree.
func FuzzTree(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		text, faults := decodeText(data, maxFileBytes)
		if len(faults) > 0 || len(data) > 1<<14 {
			return
		}
		root, faults := parseYAML(text, maxYAMLKeys)
		if root == nil || len(faults) > 0 {
			return
		}
		checkPlaces(t, root, text.lines)
		form := toJSON(root)
		again, faults := parseJSON(form)
		if len(faults) > 0 || shape(again) != form {
			t.Errorf("JSON form reads back as %v %v, want %s", again, faults, form)
		}
	})
}

func checkPlaces(t *testing.T, n *Value, lines []string) {
	for _, f := range n.Fields {
		if f.At.Line > len(lines) {
			t.Fatalf("key %q stands at line %d of %d", f.Name, f.At.Line, len(lines))
		}
		line := []rune(lines[f.At.Line-1])
		if f.At.Column > len(line)+1 {
			t.Fatalf("key %q stands at column %d of %q", f.Name, f.At.Column, string(line))
		}
		rest := string(line[f.At.Column-1:])
		first, _, _ := strings.Cut(f.Name, " ")
		if !strings.HasPrefix(rest, first) && !strings.HasPrefix(rest, `"`) && !strings.HasPrefix(rest, "'") && !strings.HasPrefix(rest, "|") && !strings.HasPrefix(rest, ">") {
			t.Errorf("key %q stands at %d:%d, where the file says %q", f.Name, f.At.Line, f.At.Column, rest)
		}
		checkPlaces(t, f.Value, lines)
	}
	for _, item := range n.Items {
		checkPlaces(t, item, lines)
	}
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
