package yamldoc

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

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

// addSeeds adds the texts of the tests of configurations.
func addSeeds(f *testing.F) {
	paths, err := filepath.Glob("../config/testdata/*.txtar")
	if err != nil || len(paths) < 20 {
		f.Fatalf("%d archives, %v, want those of package config", len(paths), err)
	}
	for _, path := range paths {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			f.Add(file.Data)
		}
	}
	f.Add([]byte("a: \"x\" y\n"))
	f.Add([]byte("version: 1\nworkspace: |2-\n   x\n\n  y\n"))
}

// FuzzTree: the YAML reader drops nothing in silence and places are right:
// the source at the place of a plain key begins with that key, and the JSON
// form of a tree reads back as the same tree.
func FuzzTree(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		text, faults := decodeText(data, 1<<20)
		if len(faults) > 0 || len(data) > 1<<14 {
			return
		}
		root, faults := parseYAML(text, 20_000)
		if root == nil || len(faults) > 0 {
			return
		}
		checkPlaces(t, root, text.lines)
		form := toJSON(root)
		again, faults := parseJSON(form)
		if len(faults) > 0 || toJSON(again) != form {
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
