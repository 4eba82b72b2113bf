package schema

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

func TestArguments(t *testing.T) {
	const tree = `{"type":"object","properties":{"value":{"type":"integer"},"child":{"$ref":"#"}},"required":["value"],"additionalProperties":false}`
	tests := []struct{ name, schema, args, want, fault string }{
		{"as it stands", weatherSchema, ` {"location":"Paris","unit":"celsius"}`, ` {"location":"Paris","unit":"celsius"}`, ""},
		{"default", weatherSchema, `{"location":"Paris"}`, `{"location":"Paris","unit":"celsius"}`, ""},
		{"null is not absent", weatherSchema, `{"location":"Paris","unit":null}`, "", `/unit: must be a string`},
		{"every fault", weatherSchema, `{"unit":"kelvin","days":0,"x":1}`, "", `/days: must be at least 1; /location: is required; /unit: must be one of "celsius", "fahrenheit"; /x: is not a known property`},
		{"near miss", weatherSchema, `{"locaton":"x","location":"y"}`, "", `/locaton: is not a known property; did you mean "location"?`},
		{"case variant", weatherSchema, `{"location":"x","Unit":"celsius"}`, "", `/Unit: is not a known property; did you mean "unit"?`},
		{"integer as 3.0", weatherSchema, `{"location":"x","unit":"celsius","days":3.0}`, `{"location":"x","unit":"celsius","days":3.0}`, ""},
		{"not an integer", weatherSchema, `{"location":"x","days":3.5}`, "", "/days: must be an integer"},
		{"not an object", weatherSchema, `["x"]`, "", "arguments: must be an object"},
		{"null", weatherSchema, `null`, "", "arguments: must be an object"},
		{"not JSON", weatherSchema, `{"location":`, "", "arguments: is not valid JSON: unexpected end of text at byte 13"},
		{"empty is {}", ``, ``, `{}`, ""},
		{"no properties", ``, `{"a":1}`, "", "/a: is not a known property"},
		{"untyped object", `{"properties":{"a":{"type":"string"}}}`, `{"a":"x","b":[1]}`, `{"a":"x","b":[1]}`, ""},
		{"open object, case variant", `{"properties":{"a":{"type":"string"}}}`, `{"A":"x"}`, "", `/A: is not a known property; did you mean "a"?`},
		{"open object, Kelvin sign", `{"properties":{"key":{}}}`, "{\"\u212aey\":1}", "", "/\u212aey: is not a known property; did you mean \"key\"?"},
		{"open object, long s", `{"properties":{"pass":{}}}`, "{\"pa\u017fs\":1}", "", "/pa\u017fs: is not a known property; did you mean \"pass\"?"},
		{"pattern property in another case", `{"properties":{"id":{}},"patternProperties":{".*":{}}}`, `{"ID":1}`, "", `/ID: is not a known property; did you mean "id"?`},
		{"two keys in free form", `{"properties":{"body":{}}}`, `{"body":{"a":1,"A":2}}`, "", `/body/a: differs from "A" in case only`},
		{"two keys, both declared", `{"properties":{"q":{},"Q":{}}}`, `{"q":1,"Q":2}`, `{"q":1,"Q":2}`, ""},
		{"variant deep in an array", `{"properties":{"l":{"type":"array","items":{"properties":{"name":{}}}}}}`, `{"l":[{"name":1},{"Name":1}]}`, "", `/l/1/Name: is not a known property; did you mean "name"?`},
		{"variant behind a reference", tree, `{"value":1,"child":{"value":2,"child":{"VALUE":3}}}`, "", `/child/child/VALUE: is not a known property; did you mean "value"?; /child/child/value: is required`},
		{"variant in one form of a choice", `{"properties":{"a":{"anyOf":[{"properties":{"name":{}}},{"type":"null"}]}}}`, `{"a":{"NAME":1}}`, "", `/a/NAME: is not a known property; did you mean "name"?`},
		{"recursion", tree, `{"value":1,"child":{"value":2,"child":{"value":3}}}`, `{"value":1,"child":{"value":2,"child":{"value":3}}}`, ""},
		{"default of a nested object", `{"properties":{"o":{"type":"object","properties":{"a":{"default":1},"b":{"default":[2]}}}}}`, `{"o":{"a":5}}`, `{"o":{"a":5,"b":[2]}}`, ""},
		{"absent object stays absent", `{"properties":{"o":{"type":"object","properties":{"a":{"default":1}}}}}`, `{}`, `{}`, ""},
		{"default of an object is filled", `{"properties":{"o":{"default":{},"properties":{"a":{"default":1}}}}}`, `{}`, `{"o":{"a":1}}`, ""},
		{"default in items", `{"properties":{"l":{"items":{"properties":{"a":{"default":true}}}}}}`, `{"l":[{},{"a":false}]}`, `{"l":[{"a":true},{"a":false}]}`, ""},
		{"default behind a reference", `{"$defs":{"u":{"enum":["x","y"],"default":"x"}},"properties":{"u":{"$ref":"#/$defs/u"}}}`, `{}`, `{"u":"x"}`, ""},
		{"default in allOf", `{"properties":{},"allOf":[{"properties":{"a":{"default":1}}}]}`, `{}`, `{"a":1}`, ""},
		{"default in a choice is no default", `{"properties":{},"anyOf":[{"properties":{"a":{"default":1}}}]}`, `{}`, `{}`, ""},
		{"default satisfies required", `{"properties":{"a":{"type":"integer","default":1}},"required":["a"]}`, `{}`, `{"a":1}`, ""},
		{"default counts as a property", `{"properties":{"a":{"default":1},"b":{}},"maxProperties":1}`, `{"b":1}`, "", "arguments: must have at most 1 property"},
		{"large integer", `{"properties":{"n":{"type":"integer","maximum":9007199254740992},"d":{"default":0}}}`, `{"n":9007199254740993}`, "", "/n: must be at most 9007199254740992"},
		{"large integer kept", `{"properties":{"n":{"type":"integer"},"d":{"default":0}}}`, `{"n":9007199254740993}`, `{"d":0,"n":9007199254740993}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := mustCompile(t, tt.schema).Arguments(json.RawMessage(tt.args))
			if tt.fault != "" {
				e, ok := errors.AsType[*sallyport.Error](err)
				if !ok || e.Code != sallyport.CodeInputInvalid || e.Detail != tt.fault {
					t.Fatalf("Arguments(%s) = %v, want %v", tt.args, err, tt.fault)
				}
				return
			}
			if err != nil || string(doc.JSON) != tt.want {
				t.Fatalf("Arguments(%s) = %s, %v, want %s", tt.args, doc.JSON, err, tt.want)
			}
			again, err := Decode(doc.JSON, nil)
			if diff := cmp.Diff(again, any(doc.Value)); err != nil || diff != "" {
				t.Errorf("Arguments(%s).Value differs from its JSON (-json +value):\n%s%v", tt.args, diff, err)
			}
		})
	}
}

// Each row is a keyword of the schema, a value that breaks it, and what is
// said about it.
func TestFaultTexts(t *testing.T) {
	tests := []struct{ name, schema, value, want string }{
		{"types", `{"type":["string","null"]}`, `{"v":1}`, "/v: must be null or a string"},
		{"array type", `{"type":"array"}`, `{"v":1}`, "/v: must be an array"},
		{"const", `{"const":{"a":1}}`, `{"v":1}`, `/v: must be {"a":1}`},
		{"long enum", `{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22]}`, `{"v":0}`, "/v: must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 or 2 more"},
		{"minLength", `{"minLength":2}`, `{"v":"é"}`, "/v: must have at least 2 characters"},
		{"maxLength", `{"maxLength":1}`, `{"v":"éé"}`, "/v: must have at most 1 character"},
		{"pattern", `{"pattern":"^[a-z]+$"}`, `{"v":"A"}`, "/v: must match the pattern ^[a-z]+$"},
		{"format", `{"format":"date-time"}`, `{"v":"tomorrow"}`, "/v: must be a valid date-time"},
		{"minimum", `{"minimum":0.5}`, `{"v":0.4}`, "/v: must be at least 0.5"},
		{"maximum", `{"maximum":10}`, `{"v":11}`, "/v: must be at most 10"},
		{"exclusiveMinimum", `{"exclusiveMinimum":0}`, `{"v":0}`, "/v: must be more than 0"},
		{"exclusiveMaximum", `{"exclusiveMaximum":0}`, `{"v":0}`, "/v: must be less than 0"},
		{"multipleOf", `{"multipleOf":3}`, `{"v":4}`, "/v: must be a multiple of 3"},
		{"minItems", `{"minItems":1}`, `{"v":[]}`, "/v: must have at least 1 item"},
		{"maxItems", `{"maxItems":1}`, `{"v":[1,2]}`, "/v: must have at most 1 item"},
		{"uniqueItems", `{"uniqueItems":true}`, `{"v":[1,2,1.0]}`, "/v: must not have equal items: 0 and 2 are equal"},
		{"contains", `{"contains":{"type":"string"}}`, `{"v":[1]}`, "/v: must have an item of the form that the schema asks for"},
		{"minContains", `{"contains":{"type":"string"},"minContains":2}`, `{"v":["a"]}`, "/v: must have at least 2 items of the form that the schema asks for"},
		{"maxContains", `{"contains":{"type":"string"},"maxContains":1}`, `{"v":["a","b"]}`, "/v: must have at most 1 item of the form that the schema names"},
		{"items", `{"items":{"type":"string"}}`, `{"v":["a",1,2]}`, "/v/1: must be a string; /v/2: must be a string"},
		{"items in order", `{"items":{"type":"string"}}`, `{"v":["","",1,"","","","","","","",1]}`, "/v/2: must be a string; /v/10: must be a string"},
		{"prefixItems", `{"prefixItems":[{"type":"string"}],"items":false}`, `{"v":[1,2]}`, "/v/0: must be a string; /v/1: is not allowed"},
		{"minProperties", `{"minProperties":2}`, `{"v":{"a":1}}`, "/v: must have at least 2 properties"},
		{"propertyNames", `{"propertyNames":{"pattern":"^x"}}`, `{"v":{"a":1,"x":2},"w":{"x":{}}}`, "/v/a: is not an allowed name"},
		{"dependentRequired", `{"dependentRequired":{"a":["b"]}}`, `{"v":{"a":1}}`, `/v/b: is required together with "a"`},
		{"unevaluatedProperties", `{"properties":{"a":true},"unevaluatedProperties":false}`, `{"v":{"b":1}}`, "/v/b: is not allowed"},
		{"not", `{"not":{"type":"string"}}`, `{"v":"s"}`, "/v: must not have the form that the schema excludes"},
		{"allOf", `{"allOf":[{"minimum":3},{"multipleOf":2}]}`, `{"v":1}`, "/v: must be a multiple of 2; /v: must be at least 3"},
		{"anyOf of types", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"v":1}`, "/v: must be a string or null"},
		{"anyOf, one comes into question", `{"anyOf":[{"type":"object","required":["a"]},{"type":"null"}]}`, `{"v":{}}`, "/v/a: is required"},
		{"anyOf, told apart by a constant", `{"oneOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"string"}}},{"properties":{"kind":{"const":"b"}},"required":["y"]}]}`, `{"v":{"kind":"b"}}`, "/v/y: is required"},
		{"anyOf, several", `{"anyOf":[{"type":"string","minLength":3},{"type":"string","pattern":"^x"}]}`, `{"v":"a"}`, "/v: must match one of 2 forms: must have at least 3 characters; or must match the pattern ^x"},
		{"oneOf, several match", `{"oneOf":[{"minimum":1},{"maximum":5}]}`, `{"v":3}`, "/v: matches more than one of the forms that exclude each other"},
		{"if then", `{"if":{"type":"string"},"then":{"minLength":2}}`, `{"v":"a"}`, "/v: must have at least 2 characters"},
		{"false", `false`, `{"v":1}`, "/v: is not allowed"},
		{"escaped pointer", `{"additionalProperties":{"type":"string"}}`, `{"v":{"a/b~c":1}}`, "/v/a~1b~0c: must be a string"},
		{"control characters in a pointer", `{"additionalProperties":{"type":"string"}}`, `{"v":{"\u001b[2J\u202e":1}}`, `/v/\x1b[2J\u202e: must be a string`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, `{"type":"object","properties":{"v":`+tt.schema+`}}`)
			if _, err := s.Arguments(json.RawMessage(tt.value)); err == nil || err.Error() != tt.want {
				t.Errorf("Arguments(%s) against %s = %v, want %v", tt.value, tt.schema, err, tt.want)
			}
		})
	}
}

func TestFaultsNeverRepeatValues(t *testing.T) {
	const secret = "hunter2-secret"
	for _, sub := range []string{
		`{"type":"integer"}`, `{"enum":["a"]}`, `{"const":1}`, `{"pattern":"^x$"}`, `{"format":"uri"}`, `{"format":"email"}`, `{"format":"ipv4"}`,
		`{"format":"date"}`, `{"format":"hostname","maxLength":3}`, `{"not":{}}`, `{"anyOf":[{"type":"null"},{"maxLength":1}]}`, `false`, `{"oneOf":[true,true]}`,
	} {
		s := mustCompile(t, `{"type":"object","properties":{"v":`+sub+`}}`)
		_, err := s.Arguments(json.RawMessage(`{"v":"` + secret + ` %zz"}`))
		if err == nil {
			t.Errorf("Arguments against %s = nil, want a fault", sub)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Arguments against %s repeats the value: %v", sub, err)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	s := mustCompile(t, `{"type":"object","additionalProperties":false}`)
	var b strings.Builder
	b.WriteString(`{"z":0`)
	for i := range 500 {
		b.WriteString(`,"` + strings.Repeat("k", 300) + strconv.Itoa(i) + `":1`)
	}
	b.WriteString("}")
	_, err := s.Arguments(json.RawMessage(b.String()))
	f, ok := errors.AsType[Faults](err)
	if !ok || len(f) > maxFaults+1 {
		t.Fatalf("Arguments with 501 unknown properties: %d faults", len(f))
	}
	if n := len(err.Error()); n > 20_000 {
		t.Errorf("Arguments with 501 unknown properties: text of %d bytes", n)
	}
}

func TestFaultsComeInOneOrder(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"v":{"anyOf":[{"required":["a","b"],"minProperties":5},{"required":["c","d"],"propertyNames":{"maxLength":1}}]}},"additionalProperties":false}`)
	const args = `{"v":{"xx":1,"yy":2},"k":1,"j":2,"l":3}`
	_, first := s.Arguments(json.RawMessage(args))
	for range 50 {
		if _, err := s.Arguments(json.RawMessage(args)); err == nil || err.Error() != first.Error() {
			t.Fatalf("Arguments(%s) = %v, then %v", args, first, err)
		}
	}
}

func TestManyFaultsAreCheap(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"v":{"items":{"type":"string"}}}}`)
	_, err := s.Arguments(json.RawMessage(`{"v":[` + strings.Repeat("1,", 150_000) + `1]}`))
	if f, _ := errors.AsType[Faults](err); len(f) != maxFaults+1 {
		t.Errorf("Arguments with 150,001 faults lists %d, want %d", len(f), maxFaults+1)
	}
}

func TestDefaultsAreCopies(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"l":{"default":[{"a":1}]}}}`)
	first, err := s.Arguments(nil)
	if err != nil {
		t.Fatal(err)
	}
	first.Value["l"].([]any)[0].(map[string]any)["a"] = "changed"
	second, err := s.Arguments(nil)
	if err != nil || string(second.JSON) != `{"l":[{"a":1}]}` {
		t.Errorf("Arguments after a change of the first = %s, %v, want the default", second.JSON, err)
	}
}

func TestValidate(t *testing.T) {
	s, err := CompileAny(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"l":{"type":"array","items":{"type":"string"}},"f":{"type":"number"}},"required":["n"]}`))
	if err != nil {
		t.Fatal(err)
	}
	type inner struct {
		N int `json:"n"`
	}
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"decoded", map[string]any{"n": json.Number("1")}, ""},
		{"int", map[string]any{"n": 1}, ""},
		{"uint8", map[string]any{"n": uint8(1)}, ""},
		{"float that is whole", map[string]any{"n": 2.0}, ""},
		{"float", map[string]any{"n": 2.5}, "/n: must be an integer"},
		{"typed slice", map[string]any{"n": 1, "l": []string{"a"}}, ""},
		{"typed slice of wrong type", map[string]any{"n": 1, "l": []int{1}}, "/l/0: must be a string"},
		{"nil slice is null", map[string]any{"n": 1, "l": []string(nil)}, "/l: must be an array"},
		{"struct", inner{N: 3}, ""},
		{"missing", map[string]any{}, "/n: is required"},
		{"NaN", map[string]any{"n": 1, "f": math.NaN()}, "is not a JSON value"},
		{"channel", map[string]any{"n": make(chan int)}, "is not a JSON value"},
		{"bad number", map[string]any{"n": json.Number("1}")}, "is not a JSON value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := s.Validate(tt.value)
			if got := f.Error(); got != tt.want || (f == nil) != (tt.want == "") {
				t.Errorf("Validate(%v) = %q, want %q", tt.value, got, tt.want)
			}
		})
	}
}

func TestCanonicalIgnoresOrderAndSpelling(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{},"b":{},"c":{"default":1}}}`)
	const want = `{"a":1,"b":"x","c":1}`
	for _, args := range []string{`{"a":1,"b":"x"}`, `{"b":"\u0078","a":1.0}`, ` {"c":1, "b":"x","a":10e-1}`} {
		doc, err := s.Arguments(json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(doc.Canonical()); got != want {
			t.Errorf("Arguments(%s).Canonical() = %s, want %s", args, got, want)
		}
	}
}
