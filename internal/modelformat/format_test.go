package modelformat_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sallyport/sallyport/internal/modelformat"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
)

// patterns are the names that each interface documents.
var patterns = map[modelformat.Dialect]*regexp.Regexp{
	modelformat.OpenAI:    regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	modelformat.Anthropic: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	modelformat.Gemini:    regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`),
	modelformat.MCP:       regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`),
}

// namesOf finds the name of each tool in a document.
func namesOf(t interface{ Fatal(...any) }, s *modelformat.Set) (names []string) {
	text, err := json.Marshal(s.Document)
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Name     string
		Function struct{ Name string }
	}
	if err := json.Unmarshal(text, &list); err != nil {
		var one struct{ FunctionDeclarations json.RawMessage }
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(one.FunctionDeclarations, &list); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range list {
		names = append(names, tool.Name+tool.Function.Name)
	}
	return names
}

// TestNames holds any set of names to what an interface takes: each fits, no
// two are one, each leads back, and none depends on the order.
func TestNames(t *testing.T) {
	name := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9_-]{1,64}`), rapid.StringMatching(`[0-9-][a-z]{0,3}`), rapid.StringMatching(`[a-z.:/ é]{0,90}`),
		rapid.StringMatching(`_?9a_[0-9a-f]{8}`),
	)
	for d, pattern := range patterns {
		t.Run(string(d), rapid.MakeCheck(func(t *rapid.T) {
			originals := rapid.SliceOfNDistinct(name, 1, 30, rapid.ID).Draw(t, "names")
			// What another name is mapped to is a name that a tool may have.
			if first, err := d.Tools([]registry.Definition{{Name: originals[0]}}); err == nil {
				for mapped := range first.Names {
					if mapped != "" && !slices.Contains(originals, mapped) {
						originals = append(originals, mapped)
					}
				}
			}
			check(t, d, pattern, originals)
		}))
	}
}

func check(t *rapid.T, d modelformat.Dialect, pattern *regexp.Regexp, originals []string) {
	defs := make([]registry.Definition, len(originals))
	back := make([]registry.Definition, len(originals))
	for i, name := range originals {
		defs[i].Name, back[len(originals)-1-i].Name = name, name
	}
	set, err := d.Tools(defs)
	if err != nil {
		t.Fatal(err)
	}
	reversed, err := d.Tools(back)
	if err != nil {
		t.Fatal(err)
	}
	names, again := namesOf(t, set), namesOf(t, reversed)
	seen := map[string]bool{}
	for i, name := range names {
		original, changed := set.Names[name]
		if !changed {
			original = name
		}
		switch {
		case !pattern.MatchString(name):
			t.Errorf("%q is %q, which does not fit", originals[i], name)
		case seen[name]:
			t.Errorf("%q is there twice", name)
		case original != originals[i]:
			t.Errorf("%q leads back to %q, want %q", name, original, originals[i])
		case pattern.MatchString(originals[i]) && name != originals[i]:
			t.Errorf("%q fits and is %q", originals[i], name)
		case again[len(again)-1-i] != name:
			t.Errorf("%q is %q, and %q in another order", originals[i], name, again[len(again)-1-i])
		}
		seen[name] = true
	}
}

// shaped is what a dialect makes of a schema.
func shaped(t *testing.T, d modelformat.Dialect, text string) (parameters json.RawMessage, strict bool, notes string) {
	t.Helper()
	set, err := d.Tools([]registry.Definition{{Name: "t", Description: "d", Schema: json.RawMessage(text)}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(set.Document)
	if err != nil {
		t.Fatal(err)
	}
	var tool struct {
		FunctionDeclarations []json.RawMessage
		Function             struct {
			Parameters json.RawMessage
			Strict     bool
		}
		InputSchema          json.RawMessage `json:"input_schema"`
		ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
	}
	if d == modelformat.Gemini {
		if err := json.Unmarshal(out, &tool); err != nil {
			t.Fatal(err)
		}
		out = append(append([]byte("["), tool.FunctionDeclarations[0]...), ']')
	}
	if err := json.Unmarshal(out[1:len(out)-1], &tool); err != nil {
		t.Fatal(err)
	}
	for _, n := range set.Notes {
		notes += n.Message
	}
	return append(append(tool.Function.Parameters, tool.InputSchema...), tool.ParametersJSONSchema...), tool.Function.Strict, notes
}

func TestSchemas(t *testing.T) {
	const open = `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b"]}`
	for _, tt := range []struct {
		name, text, want string
		dialects         []modelformat.Dialect
		notes            string
	}{
		{"as it is", open, open, []modelformat.Dialect{modelformat.OpenAI, modelformat.Anthropic, modelformat.Gemini}, ""},
		{"no type", `{"properties":{}}`, `{"properties":{},"type":"object"}`, []modelformat.Dialect{modelformat.OpenAI, modelformat.Anthropic, modelformat.Gemini}, ""},
		{"none", `true`, `{"properties":{},"type":"object"}`, []modelformat.Dialect{modelformat.OpenAI}, ""},
		{
			"alternatives at the top", `{"type":"object","properties":{"a":{"type":"string"}},"oneOf":[{"required":["a"]},{"properties":{"b":{},"a":{"type":"null"}},"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{}}}`,
			[]modelformat.Dialect{modelformat.OpenAI, modelformat.Anthropic, modelformat.Gemini},
			"oneOf",
		},
		{
			"all of them at the top", `{"type":"object","allOf":[{"properties":{"a":{}},"required":["a"]},{"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{}},"required":["a","b"]}`,
			[]modelformat.Dialect{modelformat.OpenAI, modelformat.Anthropic},
			"allOf",
		},
		{
			"closed at the top", `{"type":"object","properties":{},"additionalProperties":false,"anyOf":[{"properties":{"a":{}}}]}`,
			`{"type":"object","properties":{},"additionalProperties":false}`,
			[]modelformat.Dialect{modelformat.OpenAI},
			"anyOf",
		},
		{
			"a reference at the top", `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"x":{"type":"string"}},"$defs":{"A":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
			[]modelformat.Dialect{modelformat.OpenAI, modelformat.Anthropic, modelformat.Gemini},
			"",
		},
		{
			"a list of anything", `{"type":"object","properties":{"a":{"type":"array"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{}}}}`,
			[]modelformat.Dialect{modelformat.OpenAI, modelformat.Gemini},
			"",
		},
		{
			"keywords", `{"type":"object","$schema":"x","properties":{"a":{"type":"string","pattern":"^a","minLength":1,"default":"a"},"b":{"const":"x"},"c":{"type":"integer","exclusiveMinimum":0},"d":{"enum":[true,"x"]},"e":{"$ref":"#/definitions/E","title":"t"}},"definitions":{"E":{"allOf":[{"type":"string"}]}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":["x"]},"c":{"type":"integer","minimum":0},"d":{},"e":{"$ref":"#/$defs/E"}},"$defs":{"E":{"type":"string"}}}`,
			[]modelformat.Dialect{modelformat.Gemini},
			"enum, exclusiveMinimum, minLength, pattern, title",
		},
		{
			"what a pattern lets through", `{"type":"object","properties":{"a":{}},"patternProperties":{"^x":{}},"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{}}}`,
			[]modelformat.Dialect{modelformat.Gemini},
			"additionalProperties, patternProperties",
		},
		{
			"closed by one of all", `{"type":"object","properties":{"a":{"properties":{"y":{}},"allOf":[{"properties":{"x":{}},"additionalProperties":false}]}}}`,
			`{"type":"object","properties":{"a":{"properties":{"y":{}}}}}`,
			[]modelformat.Dialect{modelformat.Gemini},
			"",
		},
		{
			"the name of an argument", `{"type":"object","properties":{"a b":{}}}`, `{"type":"object","properties":{"a b":{}}}`,
			[]modelformat.Dialect{modelformat.Anthropic},
			"the name of an argument",
		},
	} {
		for _, d := range tt.dialects {
			got, _, notes := shaped(t, d, tt.text)
			var a, b any
			if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(tt.want), &b) != nil {
				t.Fatalf("%s: %s", tt.name, got)
			}
			if diff := cmp.Diff(b, a); diff != "" || !strings.Contains(notes, tt.notes) || (notes == "") != (tt.notes == "") {
				t.Errorf("%s for %s, notes %q, want %q (-want +got):\n%s", tt.name, d, notes, tt.notes, diff)
			}
		}
	}
	if got, _, _ := shaped(t, modelformat.OpenAI, open); string(got) != open {
		t.Errorf("what fits is written as %s, want its own order", got)
	}
	if _, err := modelformat.OpenAI.Tools([]registry.Definition{{Name: "t", Schema: json.RawMessage(`[]`)}}); err == nil {
		t.Error("a schema that is a list is taken")
	}
	if _, err := modelformat.Parse("yaml"); err == nil {
		t.Error("Parse(yaml) succeeds")
	}
}

func TestStrict(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{
		{`{"type":"object","properties":{},"additionalProperties":false}`, true},
		{`{"type":"object","properties":{"a":{"type":"string","format":"date"}},"required":["a"],"additionalProperties":false}`, true},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`, true},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"number"}},"required":["b"],"additionalProperties":false}}},"required":["a"],"additionalProperties":false}`, true},
		{`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, false},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, false},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"],"additionalProperties":false}`, false},
		{`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`, false},
		{`{"type":"object","properties":{"a":{"type":"string","format":"uri"}},"required":["a"],"additionalProperties":false}`, false},
		{`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`, false},
		{`{"type":"object","properties":{"a":{"type":"array"}},"required":["a"],"additionalProperties":false}`, false},
		{`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`, false},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}]}},"required":["a"],"additionalProperties":false}`, false},
		{`{"type":"object","properties":{"a":{"type":"string","default":"x"}},"required":["a"],"additionalProperties":false}`, false},
	} {
		if _, got, _ := shaped(t, modelformat.OpenAI, tt.text); got != tt.want {
			t.Errorf("strict(%s) = %v, want %v", tt.text, got, tt.want)
		}
	}
}

// TestNothingThatPassesIsKeptFromAModel holds a reduced schema to accept what
// the whole one accepts.
func TestNothingThatPassesIsKeptFromAModel(t *testing.T) {
	value := rapid.SampledFrom([]string{`1`, `0`, `2.5`, `"a"`, `"ab"`, `null`, `true`, `[]`, `["a"]`, `[1,1]`, `{}`, `{"x":1}`})
	keyword := rapid.SampledFrom([]string{
		`"type":"string"`, `"type":"integer"`, `"type":["array","null"]`, `"type":"object"`, `"minLength":2`, `"pattern":"^a"`,
		`"enum":[1,"a"]`, `"enum":[true,null]`, `"const":"a"`, `"exclusiveMinimum":0`, `"minimum":1`, `"multipleOf":2`,
		`"items":{"type":"string","maxLength":1}`, `"items":false`, `"uniqueItems":true`, `"minItems":1`, `"contains":{"const":1}`,
		`"allOf":[{"type":"string"}]`, `"allOf":[{"minLength":1},{"pattern":"a"}]`, `"anyOf":[{"type":"string"},{"const":1}]`, `"not":{"type":"string"}`,
		`"patternProperties":{"^x":{"type":"integer"}}`, `"additionalProperties":false`, `"properties":{"x":{"const":1}}`, `"required":["x"]`,
		`"if":{"type":"string"}`, `"then":{"minLength":2}`, `"propertyNames":{"pattern":"^x"}`, `"$ref":"#/definitions/D"`,
	})
	for _, d := range []modelformat.Dialect{modelformat.OpenAI, modelformat.Anthropic, modelformat.Gemini} {
		t.Run(string(d), func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				one := func(label string) string {
					return "{" + strings.Join(rapid.SliceOfNDistinct(keyword, 0, 4, func(k string) string { key, _, _ := strings.Cut(k, ":"); return key }).Draw(r, label), ",") + "}"
				}
				text := `{"type":"object","properties":{"a":` + one("a") + `,"b":` + one("b") + `},"definitions":{"D":` + strings.ReplaceAll(one("d"), `"$ref":"#/definitions/D"`, `"title":"d"`) + `}}`
				whole, err := schema.CompileAny(json.RawMessage(text))
				if err != nil {
					return
				}
				out, _, _ := shaped(t, d, text)
				reduced, err := schema.CompileAny(out)
				if err != nil {
					r.Fatalf("%s is no schema: %v", out, err)
				}
				args := json.RawMessage(`{"a":` + value.Draw(r, "value a") + `,"b":` + value.Draw(r, "value b") + `}`)
				if accepts(whole, args) && !accepts(reduced, args) {
					r.Errorf("%s passes %s and not %s", args, text, out)
				}
			})
		})
	}
}

func accepts(s *schema.Schema, args json.RawMessage) bool {
	doc, err := schema.Parse(args)
	return err == nil && s.Check(&doc) == nil
}
