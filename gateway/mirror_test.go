package gateway

import (
	"fmt"
	"strings"
	"testing"
)

func TestSchemasMirrorNothing(t *testing.T) {
	many := func(more string) string {
		var b strings.Builder
		for i := range 500 {
			fmt.Fprintf(&b, `"p%d":{"type":"string"%s},`, i, more)
		}
		return `{"type":"object","properties":{` + b.String() + `"q":{}}}`
	}
	deep := strings.Repeat(`{"properties":{"a":`, 100) + `{"x-mcp-header":"A"}` + strings.Repeat(`}}`, 100)
	for _, tt := range []struct{ name, in, want string }{
		{"nothing to do", `{ "type":"object" }`, `{ "type":"object" }`},
		{"a property", `{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"Region"},"a":{"x-mcp-header":"A"}}}`, `{"type":"object","properties":{"b":{"type":"string"},"a":{}}}`},
		{"a nested one", ` {"properties": {"a" : {"properties":{"b":{"x-mcp-header":"B","minimum":1e2}}}}, "required":[ "a" ]}`, `{"properties":{"a":{"properties":{"b":{"minimum":1e2}}}},"required":[ "a" ]}`},
		{"another spelling", `{"properties":{"a":{"\u0078-mcp-header":"A"}}}`, `{"properties":{"a":{}}}`},
		{"no text", `{"properties":{"a":{"x-mcp-header":{"b":[1]}}}}`, `{"properties":{"a":{}}}`},
		{"a property of that name", `{"properties":{"x-mcp-header":{"type":"string"}}}`, `{"properties":{"x-mcp-header":{"type":"string"}}}`},
		{"a value of that name", `{"properties":{"a":{"const":"x-mcp-header","default":{"x-mcp-header":1}}}}`, `{"properties":{"a":{"const":"x-mcp-header","default":{"x-mcp-header":1}}}}`},
		{"the whole", `{"x-mcp-header":"A","type":"object"}`, `{"type":"object"}`},
		{"properties that are none", `{"properties":true,"x-mcp-header":1}`, `{"properties":true}`},
		{"a property that is a truth", `{"properties":{"a":true,"b":{"x-mcp-header":""}}}`, `{"properties":{"a":true,"b":{}}}`},
		{"many", many(`,"x-mcp-header":"A"`), many("")},
		{"too deep", deep, `{"type":"object"}`},
	} {
		if got := string(unmirrored([]byte(tt.in))); got != tt.want {
			t.Errorf("%s: unmirrored(%.100s) = %.200s, want %.200s", tt.name, tt.in, got, tt.want)
		}
	}
}
