package jsonc_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/jsonc"
)

// plain is a value as encoding/json decodes it.
func plain(v *jsonc.Value) any {
	switch v.Kind {
	case jsonc.Object:
		out := map[string]any{}
		for _, m := range v.Members {
			out[m.Name] = plain(m.Value)
		}
		return out
	case jsonc.Array:
		out := []any{}
		for _, item := range v.Items {
			out = append(out, plain(item))
		}
		return out
	case jsonc.String:
		return v.Text
	case jsonc.Number:
		return json.Number(v.Text)
	case jsonc.Bool:
		return v.Text == "true"
	default:
		return nil
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"json", `{"a": [1, -0.5e+3, true, null, "x\u00e4\n\ud83d\ude00"], "b": {}}`, `{"a": [1, -0.5e+3, true, null, "xä\n😀"], "b": {}}`},
		{"comments", "// a\n{ /* b */ \"a\" /**/ : 1, // c\n \"b\": [2, /* d */],\n} // e", `{"a": 1, "b": [2]}`},
		{"a mark and CRLF", "\ufeff{\r\n\t\"a\": \"//\"\r\n}\r\n", `{"a": "//"}`},
		{"a scalar", " 12 ", `12`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := jsonc.Parse([]byte(tt.text), &jsonc.Options{Comments: true})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := plain(v), decoded(t, tt.want); !reflect.DeepEqual(got, want) {
				t.Errorf("Parse(%q) = %v, want %v", tt.text, got, want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	loose := &jsonc.Options{Comments: true}
	for _, tt := range []struct {
		name, text string
		o          *jsonc.Options
		want       string
	}{
		{"nothing", "", loose, "1:1: expected a value"},
		{"a comment in JSON", "{\n  // x\n}", nil, "2:3: a comment"},
		{"a trailing comma in JSON", `{"a": 1,}`, nil, "1:8: a comma after the last one"},
		{"two commas", `{"a": 1,,}`, loose, "1:9: expected a name"},
		{"a comma alone", `[,]`, loose, "1:2: expected a value"},
		{"a name twice", "{\"a\": 1,\n \"\\u0061\": 2}", loose, `2:2: "a" is there twice`},
		{"no end", `{"a": [1`, loose, `expected a comma or "]"`},
		{"no end of a comment", `{} /* x`, loose, "a comment without its end"},
		{"no end of a text", `{"a`, loose, "without its closing quote"},
		{"half a pair", `"\ud83d"`, loose, "not an escape"},
		{"a wrong escape", `"\x41"`, loose, "not an escape"},
		{"a control character", "\"a\nb\"", loose, "a control character"},
		{"a number with a zero before it", `01`, loose, "expected a number"},
		{"text behind", `{} {}`, loose, "expected the end of the file"},
		{"no UTF-8", "{\"a\": \"\xff\"}", loose, "1:8: expected UTF-8"},
		{"depth", strings.Repeat("[", 100_000), loose, "nested deeper than 128 levels"},
		{"values", "[" + strings.Repeat("0,", 3<<20) + "0]", loose, "more than 2097152 values"},
		{"size", strings.Repeat(" ", jsonc.MaxBytes+1), loose, "larger than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := jsonc.Parse([]byte(tt.text), tt.o)
			if _, ok := errors.AsType[*jsonc.SyntaxError](err); !ok || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestReplaceAndAdd(t *testing.T) {
	entry := jsonc.Entry{Name: "s", JSON: []byte(`{"command":"x","args":["a<b"]}`)}
	for _, tt := range []struct {
		name, text, replaced, added string
	}{
		{
			"two spaces", "{\n  // k\n  \"servers\": {\n    \"a\": 1\n  },\n  \"z\": 1, \"y\": 2\n}",
			"{\n  // k\n  \"servers\": {\n    \"s\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"a<b\"\n      ]\n    }\n  },\n  \"z\": 1, \"y\": 2\n}",
			"{\n  // k\n  \"servers\": {\n    \"a\": 1,\n    \"s\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"a<b\"\n      ]\n    }\n  },\n  \"z\": 1, \"y\": 2\n}",
		},
		{
			"tabs and CRLF", "{\r\n\t\"servers\": {}\r\n}\r\n",
			"{\r\n\t\"servers\": {\r\n\t\t\"s\": {\r\n\t\t\t\"command\": \"x\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"a<b\"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}\r\n",
			"{\r\n\t\"servers\": {\r\n\t\t\"s\": {\r\n\t\t\t\"command\": \"x\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"a<b\"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}\r\n",
		},
		{
			"one line with a comma behind", `{"servers": {"a": 1,},}`,
			"{\"servers\": {\n  \"s\": {\n    \"command\": \"x\",\n    \"args\": [\n      \"a<b\"\n    ]\n  }\n},}",
			"{\"servers\": {\"a\": 1,\n  \"s\": {\n    \"command\": \"x\",\n    \"args\": [\n      \"a<b\"\n    ]\n  },},}",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := jsonc.Parse([]byte(tt.text), &jsonc.Options{Comments: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(jsonc.Replace([]byte(tt.text), v.Get("servers"), []jsonc.Entry{entry})); got != tt.replaced {
				t.Errorf("Replace =\n%q, want\n%q", got, tt.replaced)
			}
			if got := string(jsonc.Add([]byte(tt.text), v.Get("servers"), entry)); got != tt.added {
				t.Errorf("Add =\n%q, want\n%q", got, tt.added)
			}
		})
	}
}

// FuzzParse holds the reading to that of encoding/json, and an edit to what is
// around it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a": {"b": [1, "x"]}, "c": null}`))
	f.Add([]byte("\ufeff{ // x\r\n\"a\": {\"b\": 1,},\r\n}"))
	f.Add([]byte(`["\ud83d\ude00", -1.5E-7]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		strict, strictErr := jsonc.Parse(text, nil)
		loose, err := jsonc.Parse(text, &jsonc.Options{Comments: true})
		if strictErr == nil {
			if want := decoded(t, strings.TrimPrefix(string(text), "\ufeff")); err != nil || !reflect.DeepEqual(plain(strict), want) || !reflect.DeepEqual(plain(loose), want) {
				t.Fatalf("Parse(%q) = %v, %v (%v), want %v", text, plain(strict), loose, err, want)
			}
		} else if json.Valid(text) && !strings.Contains(strictErr.Error(), "twice") && !strings.Contains(strictErr.Error(), "deeper") &&
			!strings.Contains(strictErr.Error(), "escape") && utf8.Valid(text) {
			t.Fatalf("Parse(%q) = %v, which is JSON", text, strictErr)
		}
		if err != nil || loose.Kind != jsonc.Object {
			return
		}
		for _, m := range loose.Members {
			if m.Value.Kind != jsonc.Object {
				continue
			}
			out := jsonc.Replace(text, m.Value, []jsonc.Entry{{Name: "s", JSON: []byte(`{"k":["v"]}`)}})
			if !strings.HasPrefix(string(out), string(text[:m.Value.Start])) || !strings.HasSuffix(string(out), string(text[m.Value.End:])) {
				t.Fatalf("Replace(%q) changes what is around the object: %q", text, out)
			}
			v, err := jsonc.Parse(out, &jsonc.Options{Comments: true})
			if err != nil {
				t.Fatalf("Replace(%q) = %q, which is %v", text, out, err)
			}
			if got := plain(v.Get(m.Name)); !reflect.DeepEqual(got, map[string]any{"s": map[string]any{"k": []any{"v"}}}) {
				t.Fatalf("Replace(%q) = %q", text, out)
			}
		}
	})
}
