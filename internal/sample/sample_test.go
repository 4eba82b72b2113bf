package sample

import (
	"encoding/json"
	"testing"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"nothing", `{"type":"object"}`, `{}`},
		{"not a schema", `[`, `{}`},
		{"required only, in order", `{"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{}},"required":["b","a"]}`, `{"b":1,"a":"..."}`},
		{"what the schema offers", `{"properties":{"a":{"enum":["x","y"]},"b":{"default": {"k": 1}},"c":{"const":7},"d":{"examples":["e"]},"e":{"type":"number","minimum":0.5}},"required":["a","b","c","d","e"]}`, `{"a":"x","b":{"k":1},"c":7,"d":"e","e":0.5}`},
		{"below", `{"properties":{"a":{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]},"l":{"type":"array"}},"required":["a","l"]}`, `{"a":{"b":true},"l":[]}`},
		{"a name that is not there", `{"required":["a"]}`, `{}`},
	} {
		if got := Arguments(json.RawMessage(tt.schema)); got != tt.want {
			t.Errorf("%s: Arguments() = %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestAUsualArgumentIsShownWhereNoneIsRequired(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{"path":{"type":"string"},"ref":{"type":"string"}}}`)
	if got, want := Arguments(schema, "path", "ref"), `{"path":"..."}`; got != want {
		t.Errorf("Arguments() = %s, want %s", got, want)
	}
}
