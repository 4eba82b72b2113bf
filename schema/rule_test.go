package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkSure holds the rule of a schema to the validator: what the rule is
// sure of, the validator and the search for case variants find nothing in.
func checkSure(t interface{ Fatalf(string, ...any) }, s *Schema, text string) (sure bool) {
	var scan jsonDecoder
	scan.checkText(text, s.compileForm().rule)
	if scan.unsure {
		return false
	}
	v, err := Decode([]byte(text), nil)
	if err != nil {
		// Without values a repeated key only makes the scan unsure.
		t.Fatalf("the rule of %s is sure of %q, Decode says %v", s.raw, text, err)
	}
	added, ok := s.compileForm().fillDefaults(v)
	if !ok || added && !scan.absent {
		t.Fatalf("%s fills defaults into %q, the rule sees none", s.raw, text)
	}
	if !isAffordable(s.compileForm().root, v) {
		return true
	}
	if f := s.compileForm().checkValue(v); f != nil {
		t.Fatalf("the rule of %s is sure of %q, the validator says %v", s.raw, text, f)
	}
	return true
}

func drawSchema(t *rapid.T, depth int) string {
	leaf := rapid.SampledFrom([]string{
		`true`, `{}`, `{"type":"string"}`, `{"type":"integer"}`, `{"type":"number","minimum":1,"maximum":2.5}`, `{"type":["string","null"]}`,
		`{"enum":["a","b",1,null,true]}`, `{"const":"a"}`, `{"const":1}`, `{"type":"boolean"}`, `{"type":"integer","exclusiveMinimum":0,"multipleOf":2}`,
		`{"type":"string","minLength":1,"maxLength":2}`, `{"type":"string","pattern":"^a"}`, `{"type":"string","format":"date"}`,
		`{"minimum":1}`, `{"maxLength":1}`, `{"not":{"type":"string"}}`, `{"type":"integer","default":2,"maximum":3}`, `{"type":"string","default":"a"}`,
		`{"$ref":"#/$defs/s"}`, `{"$ref":"#/$defs/o"}`, `{"$ref":"#"}`, `{"allOf":[{"$ref":"#/$defs/s"}],"default":"aa"}`, `false`, `{"minimum":0.1}`, `{"enum":[1.0,"x"]}`,
	})
	if depth == 0 {
		return leaf.Draw(t, "leaf")
	}
	sub := func() string { return drawSchema(t, depth-1) }
	switch rapid.IntRange(0, 7).Draw(t, "shape") {
	case 0, 1:
		return leaf.Draw(t, "leaf")
	case 2:
		return fmt.Sprintf(`{"type":"array","items":%s,"minItems":%d,"maxItems":%d}`, sub(), rapid.IntRange(0, 1).Draw(t, "least"), rapid.IntRange(1, 3).Draw(t, "most"))
	case 3:
		return fmt.Sprintf(`{"%s":[%s,%s]}`, rapid.SampledFrom([]string{"anyOf", "oneOf", "allOf"}).Draw(t, "combination"), sub(), sub())
	case 4:
		return fmt.Sprintf(`{"type":["object","array"],"additionalProperties":%s,"uniqueItems":true,"maxProperties":2}`, sub())
	default:
		return drawObject(t, depth)
	}
}

func drawObject(t *rapid.T, depth int) string {
	var props []string
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "k", "A", "s"}), 0, 3, rapid.ID).Draw(t, "names") {
		props = append(props, fmt.Sprintf("%q:%s", name, drawSchema(t, depth-1)))
	}
	extra := rapid.SampledFrom([]string{
		``, `,"additionalProperties":false`, `,"required":["a"]`, `,"required":["a","b"],"additionalProperties":false`, `,"minProperties":1`, `,"maxProperties":1`,
		`,"additionalProperties":{"type":"integer"}`, `,"patternProperties":{"^b":{"type":"string"}}`, `,"propertyNames":{"maxLength":1}`, `,"dependentRequired":{"a":["b"]}`,
	}).Draw(t, "extra")
	return `{"type":"object","properties":{` + strings.Join(props, ",") + `}` + extra + `}`
}

func drawValue(t *rapid.T, depth int) string {
	shape := rapid.IntRange(0, 5).Draw(t, "shape")
	if depth == 0 || shape < 2 {
		return rapid.SampledFrom([]string{
			`"a"`, `"aa"`, `"b"`, `""`, `"\u0061"`, `1`, `2`, `3`, `0`, `2.5`, `1.0`, `1e0`, `-1`, `0.1`, `12345678901234567890`, `null`, `true`, `false`, `"2026-01-02"`, `[]`, `{}`,
		}).Draw(t, "scalar")
	}
	if shape == 2 {
		var items []string
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, drawValue(t, depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	var members []string
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "k", "A", "K", "s", "\u212a", "\u017f", "x"}), 0, 4).Draw(t, "keys") {
		members = append(members, fmt.Sprintf("%q:%s", name, drawValue(t, depth-1)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestRulesAreNeverWronglySure(t *testing.T) {
	sure, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		object := strings.TrimSuffix(drawObject(t, 3), "}")
		text := object + `,"$defs":{"s":{"type":"string","maxLength":2},"o":{"type":"object","properties":{"a":{"default":1}}}}}`
		s, err := Compile(json.RawMessage(text))
		if err != nil {
			t.Skip("the drawn schema is refused")
		}
		for range 20 {
			total++
			if checkSure(t, s, drawValue(t, 4)) {
				sure++
			}
		}
	})
	// Without this the property could hold because no rule is ever sure.
	if sure*20 < total {
		t.Errorf("rules were sure of %d of %d values", sure, total)
	}
}

// TestRulesAreSureOfThePlain fails when the fast path is lost.
func TestRulesAreSureOfThePlain(t *testing.T) {
	tests := []struct{ name, schema, args string }{
		{"weather", weatherSchema, `{"location":"x","unit":"fahrenheit","days":14}`},
		{"nested", nestedSchema, `{"name":"n","path":[{"x":1,"y":-2.5e3}],"when":"2026-01-02T03:04:05Z","id":"abc"}`},
		{"other properties", `{"type":"object","properties":{"a":{}}}`, `{"a":1,"b":[{"c":null}]}`},
		{"optional by null", `{"type":"object","properties":{"a":{"anyOf":[{"type":"integer","minimum":0},{"type":"null"}]}}}`, `{"a":0}`},
		{"recursion", `{"type":"object","properties":{"l":{"type":"array","items":{"$ref":"#"}}}}`, `{"l":[{"l":[]},{}]}`},
		{"hard but absent", `{"type":"object","properties":{"a":{"not":{}},"b":{"const":true}}}`, `{"b":true}`},
		{"many properties", `{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{},"i":{},"j":{"type":"string"}},"required":["j"]}`, `{"j":"","c":1}`},
	}
	for _, tt := range tests {
		if !checkSure(t, mustCompile(t, tt.schema), tt.args) {
			t.Errorf("%s: the rule is not sure of %s", tt.name, tt.args)
		}
	}
}

// FuzzSchema compiles whatever text and holds the rule to the validator.
func FuzzSchema(f *testing.F) {
	files, err := filepath.Glob("testdata/suite/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var groups []suiteGroup
		if err := json.Unmarshal(text, &groups); err != nil {
			f.Fatal(err)
		}
		for _, g := range groups {
			for _, c := range g.Tests {
				f.Add([]byte(`{"type":"object","properties":{"v":`+string(g.Schema)+`}}`), []byte(`{"v":`+string(c.Data)+`}`))
			}
		}
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := Compile(schema)
		if err != nil {
			return
		}
		if _, err := Decode(value, nil); err == nil {
			checkSure(t, s, string(value))
		}
		doc, err := s.Arguments(value)
		if err != nil {
			return
		}
		if _, err := s.Arguments(doc.JSON); err != nil {
			t.Fatalf("Arguments(%q) against %s gives %s, which is refused: %v", value, schema, doc.JSON, err)
		}
		if !json.Valid(doc.JSON) && len(value) > 0 {
			t.Fatalf("Arguments(%q) gives %q", value, doc.JSON)
		}
	})
}

// TestRulesAreSureOfDecodedScalars holds what is sure of a decoded text or number to the
// validator, with bounds near the values. The official suite runs through it, too.
func TestRulesAreSureOfDecodedScalars(t *testing.T) {
	t.Parallel()
	check := func(raw, value string) (sure bool) {
		t.Helper()
		s, err := CompileAny(json.RawMessage(raw))
		if err != nil {
			return false
		}
		v, err := Decode([]byte(value), nil)
		if err != nil {
			return false
		}
		f := s.compileForm()
		sure = f.rule != nil && f.rule.isSureOf(v)
		if sure && runValidator(f.root.schema, v) != nil {
			t.Errorf("the rule of %s is sure of %s, which the validator refuses", raw, value)
		}
		return sure
	}
	values := []string{`"a"`, `"abc"`, `""`, `"é"`, `0`, `1`, `-1`, `1.0`, `1.5`, `0.1`, `10`, `1e1`, `123456789012345`, `1234567890123456`, `null`, `true`, `[]`, `"2026-01-02"`}
	for _, raw := range []string{
		`{"type":"string"}`, `{"type":["number","null"],"maximum":1}`, `{"minimum":0,"maximum":1}`, `{"exclusiveMaximum":1.5}`, `{"multipleOf":2}`, `{"enum":["a",1]}`,
		`{"const":1.0}`, `{"type":"integer"}`, `{"pattern":"^a"}`, `{"maxLength":1}`, `{"anyOf":[{"type":"string","maxLength":1},{"type":"integer"}]}`,
		`{"not":{}}`, `{"format":"date"}`, `true`, `false`,
	} {
		for _, v := range values {
			check(raw, v)
		}
	}
	for raw, value := range map[string]string{
		`{"type":"string","maxLength":3,"pattern":"^a"}`: `"abc"`, `{"type":["number","null"],"minimum":0,"maximum":500}`: `42`,
		`{"type":["number","null"],"maximum":1}`: `0.5`, `{"enum":["low","high"]}`: `"high"`,
	} {
		if !check(raw, value) {
			t.Errorf("the rule of %s is not sure of %s", raw, value)
		}
	}
}
