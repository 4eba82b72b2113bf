package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// FuzzDocumentsForm: a text that begins as the documents' form never panics; an
// error is a list of faults with places; what is accepted says what a plain
// reader of JSON sees in it, and the same as the native spelling.
func FuzzDocumentsForm(f *testing.F) {
	text, err := os.ReadFile("testdata/documents.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	for _, name := range []string{"layers", "actions"} {
		ar, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files[:len(ar.Files)-1] {
			f.Add(string(file.Data))
		}
	}
	f.Add(`{"layers": {"capabilities": {"actions": [{"id": "a", "x": [1e400, -0, 0.10, "\u00e9\u003c", {}, null, [true]]}]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			t.Skip("long inputs only cost time; their bound has its own test")
		}
		c, err := Parse("s.json", []byte(text), testOptions())
		if err != nil {
			fs, ok := err.(yamldoc.Faults)
			if c != nil || !ok || len(fs) == 0 || fs[0].Line < 1 {
				t.Fatalf("Parse = %v, %#v, want faults with places", c, err)
			}
			return
		}
		if !strings.Contains(text, `"version"`) {
			checkDocuments(t, c, text)
		}
	})
}

func checkDocuments(t *testing.T, c *Config, text string) {
	var doc map[string]any
	d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("Parse accepts what is no JSON: %v", err)
	}
	layers, _ := doc["layers"].(map[string]any)
	caps, _ := layers["capabilities"].(map[string]any)
	want, _ := caps["actions"].([]any)
	got := []any{}
	for _, a := range c.Actions {
		var v any
		d := json.NewDecoder(strings.NewReader(string(a.JSON)))
		d.UseNumber()
		if err := d.Decode(&v); err != nil || !nameOK(a.ID) || v.(map[string]any)["id"] != a.ID || a.Dir != "/work/proj" {
			t.Fatalf("action %q in %s: %s: %v", a.ID, a.Dir, a.JSON, err)
		}
		got = append(got, v)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("actions differ (-want +got):\n%s", diff)
	}
	native := map[string]any{"version": 1}
	if want != nil {
		native["actions"] = want
	}
	if s, ok := caps["security"].(map[string]any); ok {
		out := map[string]any{}
		for from, to := range map[string]string{"defaultPermissions": "default_permissions", "requireAuth": "require_auth", "auditLog": "audit_log"} {
			if v, ok := s[from]; ok {
				out[to] = v
			}
		}
		native["security"] = out
	}
	again, err := json.Marshal(native)
	if err != nil {
		t.Fatal(err)
	}
	same, err := Parse("s.json", again, testOptions())
	if err != nil {
		t.Fatalf("native spelling %s: %v", again, err)
	}
	if diff := cmp.Diff(c.Security, same.Security); diff != "" || len(c.Actions) != len(same.Actions) {
		t.Errorf("native spelling has %d actions, want %d, and security differs:\n%s", len(same.Actions), len(c.Actions), diff)
	}
}
