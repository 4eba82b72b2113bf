package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaders(t *testing.T) {
	one := func(property string) string { return `{"type":"object","properties":{"a":` + property + `}}` }
	marked := func(name string) string { return `{"type":"string","x-mcp-header":` + name + `}` }
	const (
		place = "belongs to a property of the arguments, or of an object among them"
		kind  = "belongs to a property of type string, integer or boolean"
		token = "must be the name of a header: letters, digits and !#$%&'*+-.^_`|~"
		taken = "names a header that another property has"
	)
	at := "/properties/a/x-mcp-header: "
	for _, tt := range []struct{ name, schema, want, fault string }{
		{"none", one(`{"type":"string"}`), "", ""},
		{"text", one(marked(`"Region"`)), "Mcp-Param-Region a", ""},
		{"whole number", one(`{"type":"integer","x-mcp-header":"n"}`), "Mcp-Param-N a", ""},
		{"truth", one(`{"type":"boolean","x-mcp-header":"DRY-run"}`), "Mcp-Param-Dry-Run a", ""},
		{"escaped keyword", one(`{"type":"string","\u0078-mcp-header":"Region"}`), "Mcp-Param-Region a", ""},
		{"every character", one(marked("\"!#$%&'*+-.^_`|~aZ0\"")), "Mcp-Param-!#$%&'*+-.^_`|~az0 a", ""},
		{"nested", one(`{"properties":{"c":{"properties":{"d":` + marked(`"D"`) + `}},"b":` + marked(`"B"`) + `}}`), "Mcp-Param-B a.b, Mcp-Param-D a.c.d", ""},
		{"a property of that name", `{"properties":{"x-mcp-header":{"type":"object"}}}`, "", ""},
		{"a value of that name", one(`{"const":{"x-mcp-header":1},"default":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}],"examples":[{"x-mcp-header":1}]}`), "", ""},

		{"number", one(`{"type":"number","x-mcp-header":"A"}`), "", at + kind},
		{"object", one(`{"type":"object","x-mcp-header":"A"}`), "", at + kind},
		{"array", one(`{"type":"array","x-mcp-header":"A"}`), "", at + kind},
		{"null", one(`{"type":"null","x-mcp-header":"A"}`), "", at + kind},
		{"types", one(`{"type":["string","null"],"x-mcp-header":"A"}`), "", at + kind},
		{"no type", one(`{"x-mcp-header":"A"}`), "", at + kind},
		{"reference", `{"$defs":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/a","x-mcp-header":"A"}}}`, "", at + kind},
		{"empty", one(marked(`""`)), "", at + token},
		{"no text", one(marked(`1`)), "", at + token},
		{"nothing", one(marked(`null`)), "", at + token},
		{"space", one(marked(`"My Region"`)), "", at + token},
		{"colon", one(marked(`"Region:Primary"`)), "", at + token},
		{"not ASCII", one(marked(`"Région"`)), "", at + token},
		{"tab", one(marked(`"Region\t1"`)), "", at + token},
		{"line", one(marked(`"Region\n"`)), "", at + token},
		{"injected", one(marked(`"A\r\nAuthorization"`)), "", at + token},
		{"twice", `{"properties":{"a":` + marked(`"R"`) + `,"b":` + marked(`"R"`) + `}}`, "", "/properties/b/x-mcp-header: " + taken},
		{"twice in other case", `{"properties":{"a":` + marked(`"MyField"`) + `,"b":` + marked(`"myfield"`) + `}}`, "", "/properties/b/x-mcp-header: " + taken},
		{"twice at other depths", `{"properties":{"a":` + marked(`"R"`) + `,"b":{"properties":{"a":` + marked(`"r"`) + `}}}}`, "", "/properties/b/properties/a/x-mcp-header: " + taken},
		{"the whole", `{"type":"object","x-mcp-header":"A"}`, "", "/x-mcp-header: " + place},
		{"items", one(`{"type":"array","items":` + marked(`"A"`) + `}`), "", "/properties/a/items/x-mcp-header: " + place},
		{"properties of items", one(`{"type":"array","items":{"properties":{"b":` + marked(`"A"`) + `}}}`), "", "/properties/a/items/properties/b/x-mcp-header: " + place},
		{"pattern", `{"type":"object","patternProperties":{"^a":` + marked(`"A"`) + `}}`, "", "/patternProperties/^a/x-mcp-header: " + place},
		{"definition", `{"type":"object","$defs":{"a":` + marked(`"A"`) + `}}`, "", "/$defs/a/x-mcp-header: " + place},
		{"other properties", `{"type":"object","additionalProperties":` + marked(`"A"`) + `}`, "", "/additionalProperties/x-mcp-header: " + place},
	} {
		s, err := Compile(json.RawMessage(tt.schema))
		if tt.fault != "" {
			if err == nil || err.Error() != tt.fault {
				t.Errorf("%s: Compile(%s) = %v, want %s", tt.name, tt.schema, err, tt.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: Compile(%s) = %v", tt.name, tt.schema, err)
			continue
		}
		var got []string
		for _, h := range s.Headers() {
			got = append(got, h.Name+" "+strings.Join(h.Path, "."))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: Headers() (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestHeadersAreNotReachedThrough says of each keyword that holds schemas that
// none of its arguments can be found by their names alone.
func TestHeadersAreNotReachedThrough(t *testing.T) {
	const marked = `{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"A"}}}`
	for _, key := range []string{
		"items", "additionalItems", "unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties",
		"propertyNames", "contentSchema", "not", "if", "then", "else",
	} {
		mustRefuseHeader(t, `{"properties":{"a":{"`+key+`":`+marked+`}}}`)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		mustRefuseHeader(t, `{"properties":{"a":{"`+key+`":[true,`+marked+`]}}}`)
	}
	for _, key := range []string{"patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"} {
		mustRefuseHeader(t, `{"properties":{"a":{"`+key+`":{"x":`+marked+`}}}}`)
	}
}

func mustRefuseHeader(t *testing.T, schema string) {
	t.Helper()
	doc, err := Decode([]byte(schema), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Headers(doc); err == nil || got != nil {
		t.Errorf("Headers(%s) = %v, %v, want that the keyword is in no place for it", schema, got, err)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	many := func(n int) map[string]any {
		properties := map[string]any{}
		for i := range n {
			properties[fmt.Sprint("p", i)] = map[string]any{"type": "string", "x-mcp-header": fmt.Sprint("h", i)}
		}
		return map[string]any{"properties": properties}
	}
	if got, err := Headers(many(maxHeaders)); len(got) != maxHeaders || err != nil {
		t.Errorf("Headers(%d) = %d, %v", maxHeaders, len(got), err)
	}
	if _, err := Headers(many(maxHeaders + 1)); err == nil || err.Error() != "asks for too many headers" {
		t.Errorf("Headers(%d) = %v, want that they are too many", maxHeaders+1, err)
	}
	for _, doc := range []any{nil, true, "x", []any{1}, map[string]any{"properties": []any{}, "items": 1}} {
		if got, err := Headers(doc); got != nil || err != nil {
			t.Errorf("Headers(%v) = %v, %v, want none", doc, got, err)
		}
	}
}

// TestReturnsHaveNoHeaders: clients look at arguments only.
func TestReturnsHaveNoHeaders(t *testing.T) {
	s, err := CompileAny(json.RawMessage(`{"x-mcp-header":7,"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`))
	if err != nil || s.Headers() != nil {
		t.Errorf("CompileAny() = %v, %v, want no headers", s, err)
	}
}
