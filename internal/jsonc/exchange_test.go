package jsonc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/jsonc"
)

// TestExchange puts s into the place of the members a and b of the whole text.
func TestExchange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{`{"a": 1}`, `{"s": {"k":1}}`},
		{`{"a": 1, "b": 2}`, `{"s": {"k":1}}`},
		{`{"x": 0, "a": 1, "y": 3}`, `{"x": 0, "s": {"k":1}, "y": 3}`},
		{`{"x": 0, "s": 1, "b": 2}`, `{"x": 0, "s": {"k":1}}`},
		{"{\n  \"x\": 0, // x\n  // a\n  \"a\": 1, // was a\n  /* b */ \"b\": 2, // was b\n}", "{\n  \"x\": 0, // x\n  // a\n  \"s\": {\n    \"k\": 1\n  }, // was a\n  /* b */ // was b\n}"},
		{"{ // o\n\"a\": 1 /* in */ , \"b\": 2 // end\n}", "{ // o\n\"s\": {\n    \"k\": 1\n  } /* in */ // end\n}"},
		{"{\"a\": 1, // c\n\"b\": 2, \"x\": 3}", "{\"s\": {\"k\":1}, // c\n \"x\": 3}"},
		{`{"x": 1}`, "{\"x\": 1,\n  \"s\": {\n    \"k\": 1\n  }}"},
	} {
		v, err := jsonc.Parse([]byte(tt.text), &jsonc.Options{Comments: true})
		if err != nil {
			t.Fatal(err)
		}
		got := string(jsonc.Exchange([]byte(tt.text), v, []string{"a", "b"}, jsonc.Entry{Name: "s", JSON: []byte(`{"k":1}`)}))
		if got != tt.want {
			t.Errorf("Exchange(%s) (-want +got):\n%s", tt.text, cmp.Diff(tt.want, got))
		}
	}
}

// FuzzExchange checks that an edited text is read, that what stays says the same,
// and that no comment is lost.
func FuzzExchange(f *testing.F) {
	for _, text := range []string{
		`{"a": 1, "b": [2], "x": {}}`, "{ // 1\n /* 2 */ \"a\" /* 3 */ : /* 4 */ 1 // 5\n, // 6\n \"x\": 1 /* 7 */, /* 8 */ }", "{\"x\":1,\"a\":2//\n,\"b\":3}",
		"{\"a\":1,//c\n\"b\":2,\"x\":3,}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, comments := range []bool{false, true} {
			o := &jsonc.Options{Comments: comments}
			v, err := jsonc.Parse([]byte(text), o)
			if err != nil || v.Kind != jsonc.Object {
				continue
			}
			got := jsonc.Exchange([]byte(text), v, []string{"a", "b"}, jsonc.Entry{Name: "s", JSON: []byte(`{"k":1}`)})
			after, err := jsonc.Parse(got, o)
			if err != nil {
				t.Fatalf("%q became %q: %v", text, got, err)
			}
			want := &jsonc.Value{Kind: jsonc.Object}
			gone := ""
			for _, m := range v.Members {
				if m.Name == "a" || m.Name == "b" || m.Name == "s" {
					gone += text[m.At:m.Value.End]
					continue
				}
				want.Members = append(want.Members, m)
			}
			entry := &jsonc.Value{Kind: jsonc.Object, Members: []jsonc.Member{{Name: "k", Value: &jsonc.Value{Kind: jsonc.Number, Text: "1"}}}}
			want.Members = append(want.Members, jsonc.Member{Name: "s", Value: entry})
			if !jsonc.Equal(want, after) {
				t.Errorf("%q became %q", text, got)
			}
			// Only an estimate: signs in texts count too, on both sides.
			if n := strings.Count(text, "/*") + strings.Count(text, "//"); strings.Count(string(got), "/*")+strings.Count(string(got), "//") < n-strings.Count(gone, "/*")-strings.Count(gone, "//") && !strings.Contains(gone, "/") {
				t.Errorf("%q became %q: a comment is lost", text, got)
			}
		}
	})
}
