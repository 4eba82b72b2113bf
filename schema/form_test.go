package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestForm(t *testing.T) {
	for _, test := range []struct{ name, schema, want string }{
		{"no schema", ``, ""},
		{"no fields", `{"type":"object"}`, ""},
		{"fields", `{"type":"object","properties":{"a":{"type":"string","format":"email","default":"a@b.example"},
			"b":{"type":"integer","minimum":1},"c":{"type":"boolean"},"d":{"type":"number"}},"required":["a"]}`, ""},
		{"choices", `{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"enumNames":["X","Y"]},
			"b":{"type":"string","oneOf":[{"const":"x","title":"X"}]},
			"c":{"type":"array","items":{"type":"string","enum":["x"]}},
			"d":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"maxItems":1}}}`, ""},
		{"no object", `{"type":"array"}`, `/type: must be "object"`},
		{"no schema at all", `true`, `/type: must be "object"`},
		{"nested", `{"type":"object","properties":{"a":{"type":"object"}}}`, "/properties/a/type: must be string"},
		{"no type", `{"type":"object","properties":{"a":{}}}`, "/properties/a/type: must be string"},
		{"free list", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, "/properties/a/items: must list choices"},
		{"reference", `{"type":"object","properties":{"a":{"type":"string","$ref":"#"}}}`, "/properties/a/$ref: is no keyword of a form"},
		{"other keyword", `{"type":"object","allOf":[]}`, "/allOf: is no keyword of a form"},
		{"choice of numbers", `{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":1}]}}}`, "/properties/a/oneOf: each choice"},
		{"choice that hides a schema", `{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","pattern":"a"}]}}}`, "/properties/a/oneOf/pattern: is no keyword"},
		{"list of anything", `{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"],"$ref":"#"}}}}`, "/properties/a/items/$ref: is no keyword"},
		{"enum of objects", `{"type":"object","properties":{"a":{"type":"string","enum":["x",{"b":1}]}}}`, "/properties/a/enum: must be a list of texts"},
		{"enum of numbers", `{"type":"object","properties":{"a":{"type":"integer","enum":[1]}}}`, "/properties/a/enum: is for texts only"},
		{"names that are none", `{"type":"object","properties":{"a":{"type":"string","enum":["x"],"enumNames":5}}}`, "/properties/a/enumNames: must be a list of texts"},
		{"list of numbers", `{"type":"object","properties":{"a":{"type":"array","items":{"enum":[1]}}}}`, "/properties/a/items/enum: must be a list of texts"},
		{"other fields than are shown", `{"type":"object","additionalProperties":{"type":"object"}}`, "/additionalProperties: must be true or false"},
		{"field that is none", `{"type":"object","properties":{"a":true}}`, "/properties/a: must be an object"},
		{"too many fields", `{"type":"object","properties":{` + strings.TrimSuffix(strings.Repeat(`"`+"\x00"+`":{"type":"string"},`, 33), ",") + `}}`, "more fields"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := test.schema
			for strings.Contains(text, "\x00") {
				text = strings.Replace(text, "\x00", "f"+strings.Repeat("x", strings.Count(text, "\x00")), 1)
			}
			_, err := CompileForm(json.RawMessage(text))
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestAFormIsClosed(t *testing.T) {
	for more, want := range map[string]string{"": "/b: is not", `,"additionalProperties":true`: ""} {
		f, err := CompileForm(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}` + more + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Fill(map[string]any{"a": "x", "b": true}); err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with %q Fill() = %v, want %q", more, err, want)
		}
	}
}
